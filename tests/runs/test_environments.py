from __future__ import annotations

from pathlib import Path
from typing import Any

from hybridal.runs.environments import record_environment
from hybridal.system.journal import Journal


def place(device: str, torch: str = "2.9") -> dict[str, Any]:
    return {"versions": {"torch": torch}, "hardware": {"device": device}}


def test_only_a_change_is_recorded_and_only_another_device_is_reported(tmp_path: Path) -> None:
    told: list[str] = []

    def note(device: str, torch: str, rounds: int) -> None:
        record_environment(tmp_path, {"settings": {}, **place("H200")}, place(device, torch), rounds, told.append)

    note("H200", "2.9", 1)
    assert not (tmp_path / "places.jsonl").exists()
    for device, torch, rounds in (("cpu", "2.9", 2), ("cpu", "2.9", 3), ("cpu", "3.0", 4), ("H200", "3.0", 5)):
        note(device, torch, rounds)
    found = Journal(tmp_path / "places.jsonl").read()
    assert [(line["rounds"], line["hardware"]["device"], line["versions"]["torch"]) for line in found] == [
        (2, "cpu", "2.9"),
        (4, "cpu", "3.0"),
        (5, "H200", "3.0"),
    ]
    assert [sentence.split(":")[0] for sentence in told] == [
        f"{tmp_path} continues on device cpu, after H200",
        f"{tmp_path} continues on device H200, after cpu",
    ]


def test_folder_without_hardware_record(tmp_path: Path) -> None:
    record_environment(tmp_path, {}, place("cpu"), {"a-cell": 3}, lambda _: None)
    assert Journal(tmp_path / "places.jsonl").read()[0]["rounds"] == {"a-cell": 3}
