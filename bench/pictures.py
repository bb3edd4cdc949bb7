"""The README's pictures of the app: `python -m bench.pictures` writes docs/images/app-label.png and app-progress.png.

They show a real project, with its trainer and `minilm`: questions to a bank (`banking77`) of eight kinds, labelled as
the benchmark does, in the order in which they are served, until the model advises to stop. It takes some minutes.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from bench.app_first_model import until
from bench.app_load import serving
from hybridal.app.db.schema import Trainer
from hybridal.app.insight.project_progress import progress
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.queue import lease_texts
from hybridal.app.labelling.text_source import Source
from hybridal.app.people import project_owner, sign_in
from hybridal.app.project import Project
from hybridal.app.project_settings import DEFAULTS, read
from hybridal.app.web.auth import cookie_name
from hybridal.tasks import load_task

CLASSES = {
    "card_delivery_estimate": "card delivery",
    "lost_or_stolen_card": "lost card",
    "exchange_rate": "exchange rate",
    "change_pin": "PIN",
    "cancel_transfer": "cancel transfer",
    "request_refund": "refund",
    "card_not_working": "card not working",
    "top_up_failed": "top-up failed",
}
PLAN: dict[str, Any] = {"backbone": "minilm", "budget": 320, "batch": 16, "validation_first": 40}
FIRST, LEAST = DEFAULTS["overrides"]["initial"], 200  # labels for the first model, and before a picture
PAGES = {"label": ("/", 800), "progress": ("/progress", 1300)}  # their addresses and heights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    out = parser.parse_args().out
    task = load_task("banking77", classes=[*CLASSES])
    truth = {id: CLASSES[name] for id, name in task.answers(task.train.ids).items()}
    rows = [(id, text, None) for id, text in zip(task.train.ids, task.train.texts, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        source = Source("tickets", rows, tuple(CLASSES.values()))
        project = Project.create(source, Path(folder) / "tickets", **PLAN)
        with serving(project.folder, None) as port:
            label(project, truth)
            show(project, f"http://127.0.0.1:{port}", out)
        project.close()


def label(project: Project, truth: dict[str, str]) -> None:
    """Label like a person who waits for each model, until the advice is to stop."""
    learnt = 0
    for key in range(PLAN["budget"]):
        with project.sessions.begin() as session:
            me = project_owner(session)
            [text] = lease_texts(session, me, 1, read(session)).texts
            annotate(session, me, text.id, "label", class_name=truth[text.id], key=f"key-{key}")
        learnt += text.split == "pool"
        if text.split == "pool" and (learnt - FIRST) % PLAN["batch"] == 0:
            until(project, partial(is_reached, 1 + (learnt - FIRST) // PLAN["batch"]))
            told = progress(project)
            print(f"{key + 1} labels: {told['advice']}", flush=True)
            if key >= LEAST and told["finish"]["advised"]:
                return


def is_reached(round: int, trainer: Trainer, _queued: int) -> bool:
    return trainer.round >= round and trainer.phase == "waiting"


def show(project: Project, address: str, out: Path) -> None:
    with project.sessions.begin() as session:
        token = sign_in(session, project_owner(session))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (path, height) in PAGES.items():
            page = browser.new_page(viewport={"width": 1280, "height": height})
            page.context.add_cookies([{"name": cookie_name(project), "value": token, "url": address}])
            page.goto(address + path)
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(1000)
            page.screenshot(path=out / f"app-{name}.png")


if __name__ == "__main__":
    main()
