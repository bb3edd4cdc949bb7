"""Every extra is installed and tried in a separate environment."""

from __future__ import annotations

import tomllib

import yaml

from bench.process import ROOT
from bench.stranger import USES

OURS = {"dev", "docs"}  # for developers of the project


def test_every_extra_is_tried() -> None:
    offered = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    asked = {"", *(offered.keys() - OURS)}
    assert set(USES) == asked
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert set(jobs["wheel"]["strategy"]["matrix"]["extra"]) == asked
