"""The first hour of a new user, by the clock: `python -m bench.stranger`.

The wheel of this checkout in a fresh environment, with nothing cached by us: from `pip install` to a trained model that
plain transformers loads, and to a CSV file with labels from the app. With --extras, each extra in an environment of its
own: that it installs, that what it is for can be imported, and that a small run works (`make release-check`).
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import httpx

from bench.process import ROOT
from hybridal.runs.settings import DEMO
from hybridal.tasks import Task

LABELS = 40
LOADS = 'from transformers import pipeline; pipeline("text-classification", model="demo/model")("a goal in overtime")'

_TRACKER = "from hybridal.trackers import TRACKERS; TRACKERS.make('{}')"
# What each extra is for; none of it may need another extra.
USES = {
    "": "from hybridal import ActiveLearner",
    "hub": "import datasets",
    "ray": "import ray",
    "app": "import hybridal.app.serve",
    "postgres": "import hybridal.app.serve, psycopg",
    "llm": "import hybridal.annotators.llm, httpx",
    "onnx": "from hybridal.models.export.onnx_export import check_onnx; check_onnx()",
    "mlflow": _TRACKER.format("mlflow") + "; import mlflow; mlflow.MlflowClient().search_experiments()",
    "tensorboard": _TRACKER.format("tensorboard") + "; import torch.utils.tensorboard",
}


class Environment:
    """A fresh environment in a folder, and commands that see nothing of this checkout."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder, self.bin = folder, folder / "env" / "bin"
        self.around = {**os.environ, "HYBRIDAL_CACHE": str(cache), "PYTHONPATH": ""}
        folder.mkdir()
        self.run(sys.executable, "-m", "venv", "env")

    def run(self, *command: str | Path) -> None:
        done = subprocess.run(command, cwd=self.folder, env=self.around, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"`{' '.join(map(str, command))}` failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")

    def install(self, wheel: Path, extra: str, quick: bool) -> None:
        """With pip, as a stranger does; with uv where it is not to be timed. Our constraints choose torch's build."""
        asked = f"{wheel}[{extra}]" if extra else str(wheel)
        tool = [str(self.bin / "python"), "-m", "pip", "install"]
        if quick:
            self.around["UV_FIND_LINKS"] = os.environ.get("PIP_FIND_LINKS", "")
            tool = [str(Path(sys.executable).with_name("uv")), "pip", "install", "--python", str(self.bin / "python")]
        self.run(*tool, "--quiet", "-c", ROOT / "constraints.txt", asked)

    def label(self, task: Task) -> None:
        """Start the app, label the texts it serves, and export the labels."""
        command = [str(self.bin / "hybridal"), "label", "--port", "0", "--no-browser"]
        with subprocess.Popen(command, cwd=self.folder, env=self.around, stdout=subprocess.PIPE, text=True) as app:
            try:
                assert app.stdout is not None
                link = next(line.split()[-1] for line in app.stdout if "http" in line)
                (self.folder / "labels.csv").write_bytes(answer(link, task))
            finally:
                app.terminate()


def answer(link: str, task: Task) -> bytes:
    """Label as a person in a browser would, with the true labels, then download the file."""
    truth = {
        " ".join(text.split()): task.classes[label]
        for text, label in zip(task.train.texts, task.train.labels, strict=True)
    }
    with httpx.Client(
        base_url=httpx.URL(link).join("/"), follow_redirects=True, trust_env=False, timeout=120
    ) as person:
        person.get(link)
        person.headers["X-CSRF-Token"] = person.get("/api/project").raise_for_status().json()["csrf_token"]
        given = 0
        while given < LABELS:
            for item in person.get("/api/next?n=5").raise_for_status().json()["items"]:
                answer = {"key": uuid.uuid4().hex, "text": item["id"], "action": "label"}
                answer["class"] = truth[" ".join(item["text"].split())]
                person.post("/api/annotations", json=answer).raise_for_status()
                given += 1
        return person.get("/api/export/labels.csv").raise_for_status().content


def timed(what: str, action: Callable[[], object]) -> None:
    """Print wall-clock and processor seconds; the latter are comparable on a busy machine too."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    action()
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"| {what} | {took:.0f} | {busy:.0f} |", flush=True)


def path(wheel: Path, home: Path) -> None:
    """From an empty environment to a model and to labels."""
    here = Environment(home / "path", home / "cache")
    hybridal = here.bin / "hybridal"
    print("| step | seconds | of the processor |\n|---|---|---|")
    timed("`pip install 'hybridal[app]'`", lambda: here.install(wheel, "app", quick=False))
    timed("`hybridal --help`, the first time", lambda: here.run(hybridal, "--help"))
    timed(
        "`hybridal run --out demo`: texts and encoder are fetched, eight rounds, 136 labels",
        lambda: here.run(hybridal, "run", "--out", "demo"),
    )
    timed("the model in plain transformers, one text", lambda: here.run(here.bin / "python", "-c", LOADS))
    task = Task.from_name(DEMO.task, classes=DEMO.classes)
    timed(f"`hybridal label`, {LABELS} answers without a pause, `labels.csv`", lambda: here.label(task))


def extras(wheel: Path, home: Path) -> None:
    """Each in an environment of its own."""
    print("| extra | seconds | of the processor |\n|---|---|---|")
    for extra, use in USES.items():

        def tried(extra: str = extra, use: str = use) -> None:
            here = Environment(home / (extra or "none"), home / "cache")
            here.install(wheel, extra, quick=True)
            here.run(here.bin / "python", "-c", use)
            here.run(here.bin / "hybridal", "run", "--backbone", "tiny", "--rounds", "2", "--quiet")

        timed(extra or "none", tried)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras", action="store_true", help="each extra in an environment of its own")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stranger-") as name:
        home = Path(name)
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", home],
            cwd=ROOT,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        (wheel,) = home.glob("*.whl")
        (extras if asked.extras else path)(wheel, home)


if __name__ == "__main__":
    main()
