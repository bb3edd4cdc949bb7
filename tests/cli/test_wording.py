from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

import hybridal
from hybridal.cli.main_app import app
from hybridal.cli.wording import flags_of, in_options
from hybridal.errors import UserError

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
RUN = flags_of(COMMANDS["run"])
WHAT_IF = flags_of(COMMANDS["what-if"])
STUDY = flags_of(COMMANDS["study"].commands["run"])


@pytest.mark.parametrize(
    ("field", "message", "expected"),
    [
        (None, "Leave `labels` out.", "Leave `labels` out."),
        ("classes", "`classes`: 'a' is named twice.", "--classes: 'a' is named twice."),
        ("validation_size", "`validation_size`: 9 rows.", "--validation-size: 9 rows."),
        ("epsilon", "`epsilon` and `patience` go together.", "--epsilon and --patience go together."),
        ("device", "`device` cuda: none here; use `device=cpu`.", "--device cuda: none here; use --device cpu."),
        ("folder", "x holds a run; choose another `folder`.", "x holds a run; choose another --out."),
        ("max_words", "Nothing is left.", "--max-words: Nothing is left."),
        ("seed", "The setting 'seed' must be a whole number.", "The setting 'seed' must be a whole number."),
        ("protocol.rounds", "`rounds` must be at least 1.", "--rounds must be at least 1."),
        ("protocol.warmup", "`warmup` must not be negative.", "`--set warmup` must not be negative."),
        ("protocol.arithmetic", "Try `arithmetic=plain`.", "Try `--set arithmetic=plain`."),
        (
            "protocol.validation",
            "`validation` must be one of fixed, none.",
            "`--set validation` must be one of fixed, none.",
        ),
        ("protocol.validation_size", "`validation_size` is 0.", "`--set validation_size` is 0."),
        ("protocol.bogus", "`bogus` is not a field.", "`bogus` is not a field."),
    ],
)
def test_fields_become_options(field: str | None, message: str, expected: str) -> None:
    assert in_options(UserError(message, field=field), RUN, RUN) == expected


def test_field_without_an_option_keeps_its_file_name() -> None:
    error = UserError("`classes`: 'a' is named twice.", field="classes")
    assert in_options(error, STUDY, RUN) == str(error)
    assert in_options(UserError("Nothing is left.", field="classes"), STUDY, RUN) == "Nothing is left."


def test_advice_may_name_the_options_of_a_run() -> None:
    error = UserError("x has no such signal; run with `signals=loss`.", field="signal")
    assert in_options(error, WHAT_IF, RUN) == "--signal: x has no such signal; run with --signals loss."


def test_only_the_command_line_names_options() -> None:
    package = Path(hybridal.__file__).parent
    options = "|".join(sorted({*RUN.values(), *WHAT_IF.values(), *STUDY.values()}))
    option = re.compile(rf"(?<![\w-])({options})\b(?!=)")
    for path in package.rglob("*.py"):
        if path.relative_to(package).parts[0] in ("cli", "app"):
            continue
        quoted = [text for line in path.read_text().splitlines() for text in line.split('"')[1:-1] if "--" in text]
        assert not [text for text in quoted if option.search(text)], path
