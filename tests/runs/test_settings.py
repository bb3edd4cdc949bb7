from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from hybridal.core.rules import PRESETS, protocol
from hybridal.errors import UserError
from hybridal.runs.settings import DEMO, Settings, default_acquisition, read_settings

FULL = Settings(
    "mail.csv", text="body", label="kind", multi_label=True, label_separator=";", id="nr", descriptions="classes.json",
    validation="v.csv", test="t.csv", validation_size=0.1, test_size=50,
    classes=("ham", "spam"), max_words=9, drop_empty=True, drop_duplicates=True, backbone="tiny", protocol="quick",
    overrides={"rounds": 2, "stop_after": None}, schedule="fixed:2",
    acquisition="badge", signals=("alpha", "cka"), seed=7, device="cpu", labels="l.csv",
    annotator="llm", llm={"model": "m", "price": 0.5}, overlap=0.2, label_price=0.3,
    test_every_round=True, stop="auto", tracker="mlflow",
)  # fmt: skip


@pytest.mark.parametrize("settings", [FULL, DEMO, Settings("imdb")])
def test_settings_survive_json(settings: Settings) -> None:
    again = Settings.from_json(json.loads(json.dumps(settings.to_json())))
    assert again == replace(settings, acquisition=settings.acquisition_spec)
    assert again.to_json() == settings.to_json()


def test_every_setting_is_tried_above() -> None:
    defaults = Settings("imdb")
    assert [f.name for f in fields(Settings) if getattr(FULL, f.name) == getattr(defaults, f.name)] == []


def test_rules_are_the_preset_with_its_overrides() -> None:
    assert FULL.rules == protocol("quick", {"rounds": 2, "stop_after": None})
    assert FULL.rules is FULL.rules  # a study asks for them in every round of every schedule


def test_validation_texts_that_were_asked_for_are_used() -> None:
    assert Settings("mail.csv").rules.validation == "share"
    assert Settings("mail.csv", validation="v.csv").rules.validation == "fixed"
    assert Settings("mail.csv", validation_size=0.1).rules.validation == "fixed"
    assert Settings("mail.csv", validation_size=0.1, overrides={"validation": "none"}).rules.validation == "none"


def test_a_run_stops_by_itself_or_never() -> None:
    with pytest.raises(UserError, match="'stop' must be auto or never, not 'soon'"):
        Settings("imdb", stop="soon")


def test_the_options_of_a_language_model_are_merged_and_recorded_only_with_an_annotator() -> None:
    assert FULL.with_changes({"llm": {"url": "http://h/v1"}}).llm == {"model": "m", "price": 0.5, "url": "http://h/v1"}
    assert not {"annotator", "llm", "overlap", "label_price"} & Settings("imdb").to_json().keys()
    with pytest.raises(UserError, match="'overlap' must be a share from 0 to 1, not 2"):
        Settings("imdb", overlap=2)
    with pytest.raises(UserError, match="'label_price' must be the price of a label by people, above 0, not -1"):
        Settings("imdb", label_price=-1)


def test_changes_replace_settings_and_merge_overrides() -> None:
    changed = FULL.with_changes({"seed": 8, "overrides": {"batch": 5, "rounds": 3}})
    assert changed.seed == 8
    assert changed.overrides == {"rounds": 3, "stop_after": None, "batch": 5}
    assert changed.to_json() | {"seed": 7, "overrides": FULL.overrides} == FULL.to_json()
    assert FULL.overrides == {"rounds": 2, "stop_after": None}
    assert FULL.with_changes({}) == FULL


def test_margins_choose_under_best_and_entropy_under_the_others() -> None:
    usual = {name: default_acquisition(name) for name in PRESETS}
    assert usual == {"paper": "entropy", "reference": "entropy", "best": "margin", "quick": "entropy"}
    assert {name: Settings("imdb", protocol=name).acquisition_spec for name in PRESETS} == usual
    assert (Settings("imdb").acquisition_spec, DEMO.acquisition_spec) == ("margin", "margin")


@pytest.mark.parametrize("name", list(PRESETS))
@pytest.mark.parametrize("acquisition", ["entropy", "margin", "badge"])
def test_an_acquisition_that_is_named_wins(name: str, acquisition: str) -> None:
    settings = Settings("imdb", protocol=name, acquisition=acquisition)
    assert settings.acquisition_spec == settings.to_json()["acquisition"] == acquisition
    for other in PRESETS:
        assert settings.with_changes({"protocol": other}).acquisition_spec == acquisition


def test_the_acquisition_goes_with_the_protocol_until_it_is_written_down() -> None:
    settings = Settings("imdb")
    assert settings.with_changes({"protocol": "paper"}).acquisition_spec == "entropy"
    assert settings.with_changes({"protocol": "paper"}).to_json()["acquisition"] == "entropy"
    assert settings.with_changes({"overrides": {"rounds": 3}}).acquisition_spec == "margin"
    recorded = Settings.from_json(settings.to_json())
    assert recorded.with_changes({"protocol": "paper"}).acquisition_spec == "margin"


def test_null_acquisition_is_the_default_and_an_empty_name_is_kept() -> None:
    assert Settings.from_json({"task": "imdb", "acquisition": None}).acquisition_spec == "margin"
    assert (
        Settings.from_json({"task": "imdb", "acquisition": ""}).acquisition_spec == ""
    )  # refused with the unknown ones


def test_unknown_setting_gets_a_suggestion_or_the_list() -> None:
    with pytest.raises(UserError, match=r"'shedule' is not a setting; did you mean 'schedule'\?"):
        Settings.from_json({"task": "imdb", "shedule": "retrain"})
    with pytest.raises(
        UserError, match="'colour' is not a setting; there are acquisition, annotator, backbone, classes"
    ):
        Settings.from_json({"task": "imdb", "colour": "retrain"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("task", 3),
        ("task", None),
        ("text", 3),
        ("validation_size", "big"),
        ("test_size", True),
        ("classes", "ham"),
        ("classes", {"ham": 1}),
        ("max_words", 2.5),
        ("backbone", None),
        ("acquisition", 3),
        ("acquisition", ["margin", "random"]),
        ("overrides", 3),
        ("overrides", ["rounds"]),
        ("overrides", None),
        ("signals", "alpha"),
        ("seed", "x"),
        ("seed", 1.5),
        ("seed", None),
        ("test_every_round", "no"),
        ("test_every_round", 1),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(UserError, match=rf"^The setting '{name}' must be .*, not .*\.$"):
        Settings.from_json({"task": "imdb", name: value})


def test_whole_numbers_are_sizes_too_and_class_names_may_be_numbers() -> None:
    settings = Settings.from_json({"task": "stars.csv", "validation_size": 100, "classes": [1, 2], "text": None})
    assert (settings.validation_size, settings.classes, settings.text) == (100, ("1", "2"), None)


@pytest.mark.parametrize("classes", ["[yes, no]", "[on, off, maybe]", "[some, null]", "[true, false]"])
def test_class_names_that_yaml_takes_for_values_are_to_be_quoted(tmp_path: Path, classes: str) -> None:
    with pytest.raises(UserError, match=r"'classes' has (True|None) in its list: YAML takes yes, .* names in quotes"):
        read_settings(written(tmp_path, f"task: mail.csv\nclasses: {classes}\n"))
    quoted = read_settings(written(tmp_path, "task: mail.csv\nclasses: ['yes', 'no']\n"))
    assert Settings.from_json(quoted).classes == ("yes", "no")


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "asked.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_file_contains_only_the_settings_that_it_changes(tmp_path: Path) -> None:
    text = "task: mail.csv\nclasses: [ham, spam]\noverrides:\n  rounds: 3\n  stop_after: null\n"
    assert read_settings(written(tmp_path, text)) == {
        "task": "mail.csv",
        "classes": ["ham", "spam"],
        "overrides": {"rounds": 3, "stop_after": None},
    }


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot be read \(Is a directory\); name a YAML file"):
        read_settings(tmp_path)


def test_a_file_need_not_name_a_task(tmp_path: Path) -> None:
    assert read_settings(written(tmp_path, "seed: 3\n")) == {"seed": 3}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("task: [imdb\n", "asked.yaml is not valid YAML: .*line 2"),
        ("task: imdb\n\tseed: 3\n", "asked.yaml is not valid YAML: .*line 2"),
        ("task: !!python/object:os.system x\n", "asked.yaml is not valid YAML"),
        ("task: 2020-13-45\n", "asked.yaml is not valid YAML: month"),
        (b"task: \xff\xfe\n", "asked.yaml is not valid YAML"),
        ("", "asked.yaml must hold `name: value` lines"),
        ("- task\n", "asked.yaml must hold"),
        ("imdb\n", "asked.yaml must hold"),
        ("task: imdb\nseed: 3\ntask: sst2\n", "asked.yaml, line 3: 'task' is named again; leave one out"),
        ("overrides:\n  rounds: 3\n  rounds: 4\n", "asked.yaml, line 3: 'rounds' is named again"),
        ("rouds: 3\n", "'rouds' is not a setting"),
        ("7: 3\n", "'7' is not a setting"),
        ("seed: many\n", "'seed' must be"),
        ("overrides:\n", "'overrides' must be"),
    ],
)
def test_unusable_settings_file_is_refused_in_one_sentence(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        read_settings(written(tmp_path, content))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"There is no file .*none.yaml"):
        read_settings(tmp_path / "none.yaml")


def test_a_folder_instead_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"{tmp_path} .*Is a directory"):
        read_settings(tmp_path)


def test_the_demo_can_run_anywhere() -> None:
    assert DEMO.task == "newsgroups"
    assert (DEMO.rules.name, DEMO.schedule) == ("best", "auto")
