"""From the answering key to the next text: `python -m bench.app_keyboard FILE --text text --label labels`.

Chromium labels the texts of a file by keyboard as the file does: once with all classes of each text, where Enter saves
them, and once with the first class, whose key answers at once. The server and its trainer share the machine with
Chromium. A time ends with the frame that shows the next text. The figures go to bench/results/app.json.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, expect, sync_playwright

from bench.app_load import serving
from hybridal.app.labelling.text_source import Source, read_source
from hybridal.app.people import project_owner, sign_in
from hybridal.app.project import Project
from hybridal.app.web.auth import cookie_name
from hybridal.tasks.answers import names_of

KEYS = "123456789abdeghijklmnopqrtvwxyz"
READING_MS = 400  # before an answer, as if the person read the text
# A frame follows the change of the text; the task after it runs when the frame was drawn.
WATCH = """() => {
  window.times = [];
  let pressed = 0;
  addEventListener("keydown", (event) => (pressed = event.timeStamp), true);
  const drawn = () => {
    const from = pressed;
    requestAnimationFrame(() => setTimeout(() => times.push(performance.now() - from)));
  };
  new MutationObserver(drawn).observe(document.getElementById("text"), { childList: true });
}"""


def keys_of(names: Sequence[str], classes: Sequence[str]) -> list[str]:
    """The keys that choose these classes; none for those beyond the keys.

    >>> keys_of(["joy", "fear"], ["fear", "joy"])
    ['1', '2']
    """
    places = sorted(classes.index(name) for name in names)
    return [KEYS[place] for place in places if place < len(KEYS)]


def label(page: Page, truth: Mapping[str, Sequence[str]], classes: Sequence[str], several: bool, n: int) -> list[float]:
    """Label n texts; return the milliseconds from each answering key to the next text."""
    expect(page.locator("#text")).not_to_be_empty()
    page.evaluate(WATCH)
    for _ in range(n):
        page.wait_for_timeout(READING_MS)
        keys = keys_of(truth[page.locator("#text").text_content() or ""], classes)
        if several:
            for key in [*keys, "Enter"] if keys else ["0"]:
                page.keyboard.press(key)
        else:
            page.keyboard.press(keys[0] if keys else "1")
    page.wait_for_timeout(READING_MS)
    found: list[float] = page.evaluate("times")
    return found


def measure(source: Source, several: bool, texts: int) -> dict[str, Any]:
    """The times of one kind of project."""
    truth = {row[1]: names_of([row[2]]) if row[2] is not None else [] for row in source.rows}
    rows = [(row[0], row[1], None) for row in source.rows]
    with tempfile.TemporaryDirectory() as folder:
        unlabelled = Source(source.name, rows, source.classes, multi_label=several)
        project = Project.create(unlabelled, Path(folder) / "p", backbone="tiny", show_predictions=True)
        with project.sessions.begin() as session:
            cookie = {"name": cookie_name(project), "value": sign_in(session, project_owner(session))}
        with serving(project.folder, None) as port, sync_playwright() as playwright:
            program = shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.context.add_cookies([{**cookie, "url": f"http://127.0.0.1:{port}"}])  # type: ignore[list-item]
            page.goto(f"http://127.0.0.1:{port}/")
            times = label(page, truth, source.classes, several, texts)
            browser.close()
        project.close()
    return {
        "classes": len(source.classes),
        "texts": len(times),
        **{f"p{q}_ms": round(float(np.percentile(times, q)), 1) for q in (50, 95, 100)},
        "load_before": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--text", default="text")
    parser.add_argument("--label", default="labels")
    parser.add_argument("--texts", type=int, default=100, help="to label")
    parser.add_argument("--out", type=Path, default=Path("bench/results/app.json"))
    asked = parser.parse_args()
    # Equal texts would be told apart by nothing on the page.
    source = read_source(asked.file, text=asked.text, label=asked.label, multi_label=True, drop_duplicates=True)
    kinds = {"several classes": True, "one class": False}
    found = {"keyboard": {name: measure(source, several, asked.texts) for name, several in kinds.items()}}
    known = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.is_file() else {}
    asked.out.write_text(json.dumps(known | found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
