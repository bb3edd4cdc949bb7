"""axe-core, the accessibility checker; fetched from npm and cached."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from playwright.sync_api import Page

VERSION = "4.10.3"
FAULTS = """async (rules) => {
  const more = ["target-size", "label-content-name-mismatch"].map((name) => [name, { enabled: true }]);
  const asked = rules ? { runOnly: rules } : { rules: Object.fromEntries(more) };
  const found = await axe.run(document, { resultTypes: ["violations"], ...asked });
  // The link past the menu stands outside of all landmarks, as it must.
  const bad = found.violations.filter(({ id }) => id !== "region");
  const described = (id, { html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`;
  return bad.flatMap(({ id, nodes }) => nodes.map((node) => described(id, node)));
}"""


def axe_script(kept: Path) -> str:
    """The cached script; None without npm or network."""
    file = kept / f"axe-core-{VERSION}.tgz"
    if not file.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm is not installed: `apt-get install npm`")
        order = [npm, "pack", f"axe-core@{VERSION}", "--pack-destination", str(kept)]
        if subprocess.run(order, capture_output=True, timeout=60, check=False).returncode:
            pytest.skip("npm could not fetch axe-core")
    with tarfile.open(file) as packed:
        member = packed.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()


class Axe:
    """Checks pages in their current state."""

    def __init__(self, script: str) -> None:
        self._script = script

    def faults(self, page: Page, *rules: str) -> list[str]:
        """Violations on a page by these rules (default: all), each with its element."""
        if not page.evaluate("'axe' in window"):
            page.evaluate(self._script)
        found: list[str] = page.evaluate(FAULTS, [*rules] or None)
        return found
