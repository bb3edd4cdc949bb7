from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from hybridal.acquisition import ACQUISITIONS
from hybridal.acquisition.bald import Bald
from hybridal.errors import UserError
from hybridal.registry import Registry
from hybridal.schedules import SCHEDULES
from hybridal.signals import SIGNALS, Signal
from hybridal.signals.loss import Loss
from hybridal.signals.weight_distance import WeightDistance
from hybridal.trackers import TRACKERS
from hybridal.updates import UPDATES


def test_every_file_is_a_component() -> None:
    assert SIGNALS.names() == [
        "accuracy", "agreement", "alpha", "alpha-tail", "cka", "divergence", "drift", "f1", "gradient-norm", "loss",
        "nc", "nc-labelled", "weight-distance",
    ]  # fmt: skip
    assert ACQUISITIONS.names() == [
        "badge", "bald", "cal", "cardinality", "coreset", "entropy", "least-confidence", "margin", "mmc",
        "random", "typiclust",
    ]  # fmt: skip


@pytest.mark.parametrize("registry", [SIGNALS, ACQUISITIONS])
def test_every_component_is_found_under_its_own_name(registry: Registry[Signal]) -> None:
    for name in registry.names():
        assert registry.make(name).name == name


def test_specs_carry_arguments() -> None:
    assert ACQUISITIONS.make("bald:4") == Bald(passes=4)


@pytest.mark.parametrize("spelling", ["weight-distance", "weight_distance", " Weight-Distance "])
def test_spelling_is_forgiven(spelling: str) -> None:
    assert SIGNALS.make(spelling) == WeightDistance()


def test_a_near_miss_gets_a_hint() -> None:
    with pytest.raises(UserError, match=r"no signal named 'acuracy'; did you mean 'accuracy'\?"):
        SIGNALS.make("acuracy")


def test_a_far_miss_gets_the_list() -> None:
    with pytest.raises(UserError, match="there are badge, bald, cal, "):
        ACQUISITIONS.make("zzz")


@pytest.mark.parametrize("spec", ["bald:none", "bald:1", "bald:2:3", "entropy:1"])
def test_bad_arguments_name_the_spec(spec: str) -> None:
    with pytest.raises(UserError, match=f"'{spec}' is not a valid spec"):
        ACQUISITIONS.make(spec)


def test_class_instead_of_an_instance_is_refused() -> None:
    with pytest.raises(UserError, match="Bald is a class; give an object of it, or its name as a text"):
        ACQUISITIONS.spec_of(Bald)  # type: ignore[arg-type]


def test_component_of_another_role_is_refused_before_use() -> None:
    with pytest.raises(
        UserError, match=r"'hybridal\.signals\.loss\.Loss' is not a valid acquisition: it has no `select`; name"
    ):
        ACQUISITIONS.make("hybridal.signals.loss.Loss")
    with pytest.raises(
        UserError, match=r"'hybridal\.acquisition\.bald\.Bald' is not a valid signal: it has no `title`"
    ):
        SIGNALS.make("hybridal.acquisition.bald.Bald:4")
    with pytest.raises(UserError, match=r"'numpy\.linalg' is a module, not the class of a component; name a class"):
        SIGNALS.make("numpy.linalg")


@pytest.mark.parametrize(
    "path",
    [
        *("os.mkdir", "os.system", "subprocess.Popen", "imaplib.IMAP4_stream", "builtins.exec", "runpy.run_path"),
        *("shutil.rmtree", "pip.__main__.main", "numpy.save", f"{__name__}.Trap"),
    ],
)
@pytest.mark.parametrize("registry", [SIGNALS, ACQUISITIONS, SCHEDULES, UPDATES, TRACKERS])
def test_a_path_out_of_anothers_folder_calls_nothing(path: str, registry: Registry[Any], tmp_path: Path) -> None:
    """Runs and projects record components by name, so a name must not load another component."""
    mark = tmp_path / "called"
    with pytest.raises(UserError, match=r"is not a valid \w+|is a \w+, not the class|cannot be imported"):
        registry.make(f"{path}:{mark}")
    assert not mark.exists()


class Trap:
    """A class that is no component, and does something when it is called."""

    def __init__(self, mark: str) -> None:
        Path(mark).touch()


def test_helpers_are_no_components() -> None:
    assert not [name for name in (*SIGNALS.names(), *ACQUISITIONS.names()) if name.startswith(("_", "-"))]
    with pytest.raises(UserError, match="no signal"):
        SIGNALS.find("_spectrum")


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another package, installed as far as Python can tell, that adds a signal."""
    (tmp_path / "foreign_signals.py").write_text(
        "from hybridal.signals import Signal\n"
        "class Heat(Signal):\n    name, title, epsilon, patience = 'heat', 'ΔHeat', 0.1, 2\n"
        "    def __init__(self, degrees=20):\n        self.degrees = degrees\n"
    )
    info = tmp_path / "foreign_signals-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign-signals\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[hybridal.signals]\nheat = foreign_signals:Heat\ncold = foreign_signals:Cold\nwet = nowhere:Wet\n"
        "loss = foreign_signals:Heat\ntwice = foreign_signals:Heat\n"
    )
    other = tmp_path / "other-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[hybridal.signals]\ntwice = nowhere:Wet\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    monkeypatch.delitem(sys.modules, "foreign_signals", raising=False)


@pytest.mark.usefixtures("foreign")
def test_another_package_adds_its_own() -> None:
    assert "heat" in SIGNALS.names()
    assert vars(SIGNALS.make("heat:35")) == {"degrees": 35}
    assert "heat" not in ACQUISITIONS.names()


@pytest.mark.usefixtures("foreign")
@pytest.mark.parametrize(("name", "value"), [("cold", "foreign_signals:Cold"), ("wet", "nowhere:Wet")])
def test_missing_entry_point_target_is_named(name: str, value: str) -> None:
    with pytest.raises(UserError, match=f"The signal '{name}' is registered as {value}, which cannot be imported"):
        SIGNALS.make(name)


@pytest.mark.usefixtures("foreign")
def test_a_name_that_is_taken_is_not_silently_ours(caplog: pytest.LogCaptureFixture) -> None:
    """An error would block every run if a package takes the name of a default."""
    for _ in range(2):
        assert SIGNALS.find("loss") is Loss
    message = "The signal 'loss' of hybridal is used; foreign_signals:Heat must be renamed."
    assert [record.message for record in caplog.records] == [message]


@pytest.mark.usefixtures("foreign")
def test_two_packages_that_offer_one_name_are_both_named() -> None:
    with pytest.raises(UserError, match=r"'twice' is offered by foreign_signals:Heat and nowhere:Wet; rename yours"):
        SIGNALS.find("twice")


@pytest.mark.usefixtures("foreign")
@pytest.mark.parametrize("code", ["raise RuntimeError('no licence')", "raise SystemExit(3)", "def"])
def test_a_module_that_fails_when_it_is_imported_is_named(code: str, tmp_path: Path) -> None:
    (tmp_path / "foreign_signals.py").write_text(code)
    with pytest.raises(
        UserError, match=r"'heat' is registered as foreign_signals:Heat, which cannot be imported \(.*; fix that"
    ):
        SIGNALS.make("heat")
    with pytest.raises(UserError, match=r"'foreign_signals\.Heat' cannot be imported \("):
        SIGNALS.make("foreign_signals.Heat")
    assert SIGNALS.about("loss")  # others are none the worse


@pytest.mark.usefixtures("foreign")
def test_a_constructor_that_fails_is_named(tmp_path: Path) -> None:
    (tmp_path / "foreign_signals.py").write_text("class Heat:\n    def __init__(self): raise KeyError('oven')\n")
    with pytest.raises(UserError, match=r"'heat' cannot be created: KeyError: 'oven' \(foreign_signals\.py, line 2\)"):
        SIGNALS.make("heat")


@pytest.mark.usefixtures("foreign")
def test_a_package_with_malformed_entry_points_is_named(tmp_path: Path) -> None:
    (tmp_path / "foreign_signals-1.0.dist-info" / "entry_points.txt").write_text("[console_scripts]\nheat\n")
    with pytest.raises(
        UserError, match=r"'foreign-signals' has a malformed entry_points\.txt \(.*\); update or uninstall"
    ):
        SIGNALS.names()


def test_uninstalled_components_are_not_found() -> None:
    assert "heat" not in SIGNALS.names()
