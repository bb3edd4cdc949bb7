from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hybridal.annotators.labels_file import LabelsFile, check_labels_file
from hybridal.core.observer import Observer
from hybridal.errors import UserError
from hybridal.tasks.file_formats import delimiter_of
from hybridal.tasks.label_cells import CellReader

CLASSES = ("sport", "food")
TEXTS = {"1": "a goal", "2": "bread, warm"}


class Ear(Observer):
    def __init__(self) -> None:
        self.messages: list[str] = []
        self.waits: list[tuple[int, int, str]] = []

    def message(self, text: str) -> None:
        self.messages.append(text)

    def waiting(self, labelled: int, of: int, file: Path) -> None:
        self.waits.append((labelled, of, file.name))


class Person:
    """Does one thing at each pause of the annotator; one pause too many fails."""

    def __init__(self, folder: Path, *acts: Callable[[Person], object], several: bool = False) -> None:
        self.own, self.to_label = folder / "labels.csv", folder / "to_label.csv"
        self.ear = Ear()
        self._acts = list(acts)
        cells = CellReader(CLASSES, several, ";" if several else None)
        self.annotator = LabelsFile(self.own, self.to_label, cells, self.ear, self._next)

    def _next(self) -> None:
        assert self._acts, f"waits although the script has no action left: {self.ear.messages}"
        self._acts.pop(0)(self)

    def asked(self) -> list[dict[str, str]]:
        """The rows that wait for a label."""
        with self.to_label.open(encoding="utf-8", newline="") as file:
            return [row for row in csv.DictReader(file) if not row["label"]]

    def done(self) -> bool:
        return not self._acts


def saves(content: str | bytes) -> Callable[[Person], object]:
    """Saves the own file."""
    data = content.encode() if isinstance(content, str) else content
    return lambda person: person.own.write_bytes(data)


def fills(labels: dict[str, str]) -> Callable[[Person], object]:
    """Fills labels into the file that was written for it, as a spreadsheet would."""

    def act(person: Person) -> None:
        with person.to_label.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            row["label"] = labels.get(row["id"], row["label"])
        with person.to_label.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, ["id", "text", "label"])
            writer.writeheader()
            writer.writerows(rows)

    return act


def looks(*checks: Callable[[Person], bool]) -> Callable[[Person], object]:
    def act(person: Person) -> None:
        assert all(check(person) for check in checks)

    return act


def test_existing_labels_are_used_immediately(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.own.write_text("id,label\n2,food\n1,sport\n3,nonsense\n")
    assert person.annotator.label(TEXTS) == {"1": "sport", "2": "food"}
    assert not person.to_label.exists()
    assert (person.ear.messages, person.ear.waits) == ([], [])


def test_no_ids_need_no_file(tmp_path: Path) -> None:
    person = Person(tmp_path)
    assert person.annotator.label({}) == {}
    assert not person.to_label.exists()


def test_missing_labels_are_listed_and_waited_for(tmp_path: Path) -> None:
    person = Person(
        tmp_path,
        looks(lambda p: p.asked() == [{"id": id, "text": text, "label": ""} for id, text in TEXTS.items()]),
        saves("id,label\n1,sport\n"),
        saves("id,label\n1,sport\n2, food \n"),
    )
    assert person.annotator.label(TEXTS) == {"1": "sport", "2": "food"}
    assert person.ear.waits == [(0, 2, "to_label.csv"), (0, 2, "to_label.csv"), (1, 2, "to_label.csv")]
    assert person.done()


def test_only_missing_labels_are_listed(tmp_path: Path) -> None:
    person = Person(tmp_path, looks(lambda p: [row["id"] for row in p.asked()] == ["2"]), fills({"2": "food"}))
    person.own.write_text("id,label\n1,sport\n")
    assert person.annotator.label(TEXTS) == {"1": "sport", "2": "food"}


def test_labels_may_be_filled_in_where_they_were_asked_for(tmp_path: Path) -> None:
    person = Person(tmp_path, fills({"1": "sport"}), fills({"2": "food"}))
    assert person.annotator.label(TEXTS) == {"1": "sport", "2": "food"}


def test_a_text_of_any_length_can_be_labelled(tmp_path: Path) -> None:
    person = Person(tmp_path, saves("id,label\n1,sport\n"))
    assert person.annotator.label({"1": "a goal " * 20_000}) == {"1": "sport"}
    assert person.ear.messages == []


def test_label_in_the_users_own_file_wins_over_the_list(tmp_path: Path) -> None:
    person = Person(tmp_path, saves("id,label\n1,food\n"), fills({"1": "sport", "2": "sport"}))
    assert person.annotator.label(TEXTS) == {"1": "food", "2": "sport"}


def test_labels_filled_in_before_a_restart_are_kept(tmp_path: Path) -> None:
    def stop(_person: Person) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Person(tmp_path, fills({"1": "sport"}), stop).annotator.label(TEXTS)
    again = Person(tmp_path, looks(lambda p: [row["id"] for row in p.asked()] == ["2"]), fills({"2": "food"}))
    assert again.annotator.label(TEXTS) == {"1": "sport", "2": "food"}


def test_earlier_labels_stay_in_the_file_when_more_are_asked_for(tmp_path: Path) -> None:
    person = Person(tmp_path, fills({"1": "sport", "2": "food"}), fills({"3": "food"}))
    person.annotator.label(TEXTS)
    assert person.annotator.label({"3": "soup"}) == {"3": "food"}
    # A run that is resumed or computed again asks for the first ones once more.
    assert person.annotator.label({**TEXTS, "3": "soup"}) == {"1": "sport", "2": "food", "3": "food"}
    with person.to_label.open(encoding="utf-8", newline="") as file:
        assert {row["id"]: row["text"] for row in csv.DictReader(file)} == {**TEXTS, "3": "soup"}


def test_a_misspelt_class_is_mentioned_once_and_waited_out(tmp_path: Path) -> None:
    bad = "id,label\n1,sprot\n2,food\n"
    person = Person(tmp_path, saves(bad), saves(bad), saves(bad + "\n"), saves("id,label\n1,sport\n2,food\n"))
    assert person.annotator.label(TEXTS) == {"1": "sport", "2": "food"}
    assert person.ear.messages == [f"{person.own}: 'sprot' of id '1' is not a class; use one of sport, food."]
    assert person.ear.waits[-1][:2] == (1, 2)


def test_a_late_correction_is_reported(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.own.write_text("id,label\n1,sport\n2,food\n3,food\n")
    person.annotator.label(TEXTS)
    person.own.write_text("id,label\n1,food\n2,food\n3,sport\n")
    assert person.annotator.label({"3": "soup"}) == {"3": "sport"}
    (message,) = person.ear.messages
    assert "id '1' is now 'food', but the run learns from its first label, 'sport'" in message


def test_misspelt_classes_of_other_texts_are_ignored(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.own.write_text("id,label\n1,sport\n2,food\n9,sprot\n")
    person.annotator.label(TEXTS)
    assert person.ear.messages == []


@pytest.mark.parametrize(
    "half",
    [b"", b"i", b"id,lab", b"id,label\n", b"id,label\n1", b"id,label\n1,", b"id,label\n1,spo",
     b'id,label\n"1,sport\n2,f', b"id,label\n1,sp\xc3"],
)  # fmt: skip
def test_a_half_saved_file_is_waited_out(tmp_path: Path, half: bytes) -> None:
    person = Person(tmp_path, saves(half), saves("id,label\n1,sport\n2,food\n"))
    assert person.annotator.label(TEXTS) == {"1": "sport", "2": "food"}


@pytest.mark.parametrize("junk", [b"\xff\xfe\x00", "id,label\n1,café\n2,".encode() + b"\xe9\n"])
def test_a_file_that_cannot_be_read_is_mentioned_once_and_waited_out(tmp_path: Path, junk: bytes) -> None:
    person = Person(tmp_path, saves(junk), saves(junk), saves("id,label\n1,sport\n2,food\n"))
    assert person.annotator.label(TEXTS) == {"1": "sport", "2": "food"}
    assert len(person.ear.messages) == 1
    assert person.ear.messages[0].startswith(f"{person.own} cannot be read at the moment (")


def test_a_file_saved_during_reading_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def meanwhile(file: TextIO) -> str:
        monkeypatch.undo()
        person.own.write_text("id,label\n1,food\n2,food\n")
        return delimiter_of(file)

    person = Person(tmp_path, saves("id,label\n1,sport\n2,food\n"))
    person.own.write_text("id,label\n1,food\n2,sport\n")
    monkeypatch.setattr("hybridal.annotators.labels_file.delimiter_of", meanwhile)
    assert person.annotator.label(TEXTS) == {"1": "sport", "2": "food"}
    assert person.ear.messages == []


def test_a_file_to_label_in_that_cannot_be_read_is_not_written_over(tmp_path: Path) -> None:
    """A damaged or partly saved file may still contain a day's work."""
    half = "id,text,label\r\n1,café,food\r\n".encode("utf-16")[:-1]

    def untouched(person: Person) -> bool:
        return person.to_label.read_bytes() == half

    def mend(person: Person) -> None:
        person.to_label.write_bytes(half + b"\0")

    def asked_again(person: Person) -> bool:
        return [row["id"] for row in person.asked()] == ["2"]

    person = Person(tmp_path, looks(untouched), mend, looks(asked_again), fills({"2": "sport"}))
    person.to_label.write_bytes(half)
    assert person.annotator.label({"1": "caf\xe9", "2": "x"}) == {"1": "food", "2": "sport"}


def test_pending_texts_are_listed_again_after_an_older_list_overwrote_them(tmp_path: Path) -> None:
    """A spreadsheet that still shows the last texts, or takes the id 007 for a number."""
    older = "id,text,label\n1,a goal,sport\n7,stew,food\n"

    def saves_older(person: Person) -> None:
        person.to_label.write_text(older)

    def untouched(person: Person) -> bool:
        return person.to_label.read_text() == older

    def asked_again(person: Person) -> bool:
        return [row["id"] for row in person.asked()] == ["2", "007"]

    answers = {"2": "food", "007": "food"}
    person = Person(tmp_path, saves_older, looks(untouched), looks(asked_again), fills(answers))
    assert person.annotator.label({**TEXTS, "007": "stew"}) == {"1": "sport", "2": "food", "007": "food"}
    (message,) = person.ear.messages
    assert message == (
        f"{person.to_label} was saved without 2 of the texts that wait for a label, such as id '2'; they are listed "
        "again: open it again, with the ids as text."
    )


@pytest.mark.parametrize("half", [b"", b"id,text,label\n", b"id,text,label\n1,a g"])
def test_a_list_that_is_being_saved_is_not_written_over(tmp_path: Path, half: bytes) -> None:
    def saves_half(person: Person) -> None:
        person.to_label.write_bytes(half)

    def saves_the_rest(person: Person) -> None:
        assert person.to_label.read_bytes() == half
        person.to_label.write_text("id,text,label\n1,a goal,sport\n2,bread,food\n")

    person = Person(tmp_path, saves_half, saves_the_rest)
    assert person.annotator.label(TEXTS) == {"1": "sport", "2": "food"}
    assert person.ear.messages == []


@pytest.mark.parametrize(
    ("content", "there"), [("id,class\n1,sport\n", "id, class"), ("id;class\n1;sport\n", "id, class"), ("1\n2\n", "1")]
)
def test_a_missing_column_is_an_error(tmp_path: Path, content: str, there: str) -> None:
    person = Person(tmp_path, saves(content))
    with pytest.raises(UserError, match=rf"labels.csv needs the columns 'id' and 'label'; it has {there}\."):
        person.annotator.label(TEXTS)


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfid,label\n1,sport\n2,food\n",
        b"id,label\r\n1,sport\r\n2,food\r\n",
        b"id,label\r1,sport\r2,food\r",
        b"label,note,id\nsport,,1\nfood,x,2",
        b"id,label\n\n1,sport\n\n2,food\n\n",
        b"id,label\n1,sport,extra\n2,food,cells,here\n",
        b"id,label\n1,food\n2,food\n1,sport\n",
        "id;text;label\r\n1;für, Öl;sport\r\n2;;food\r\n".encode("cp1252"),
        "id\ttext\tlabel\r\n1\tfür\tsport\r\n2\t\tfood\r\n".encode("utf-16"),
    ],
    ids=["BOM", "CRLF", "CR", "other order", "blank lines", "extra cells", "last of two rows", "Excel", "UTF-16"],
)
def test_files_saved_by_common_editors_are_read(tmp_path: Path, content: bytes) -> None:
    person = Person(tmp_path)
    person.own.write_bytes(content)
    assert person.annotator.label(TEXTS) == {"1": "sport", "2": "food"}


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)


@settings(deadline=None, max_examples=60)
@example({"a\rb": "c\rd", "a\nb": "c\r\nd", '"': ',"', "\0": "\ufeff"})
@given(st.dictionaries(NAMES, st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=4))
def test_any_id_and_text_survive_the_file(tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str]) -> None:
    def asked_for(person: Person) -> bool:
        return {row["id"]: row["text"] for row in person.asked()} == texts

    person = Person(tmp_path_factory.mktemp("labels"), looks(asked_for), fills(dict.fromkeys(texts, "food")))
    assert person.annotator.label(texts) == dict.fromkeys(texts, "food")


def test_labels_come_in_the_order_of_the_request(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.own.write_text("id,label\n2,food\n3,food\n1,sport\n")
    answers: Iterable[str] = person.annotator.label(TEXTS)
    assert list(answers) == ["1", "2"]


class TestSeveral:
    """A text may have several classes, or none."""

    @pytest.mark.parametrize("cell", ['["sport", "food"]', '["food","sport"]', "food ; sport", "sport;food;"])
    def test_ways_to_write_two(self, cell: str, tmp_path: Path) -> None:
        person = Person(tmp_path, several=True)
        write(person.own, {"1": cell, "2": "[]"})
        assert person.annotator.label(TEXTS) == {"1": frozenset(CLASSES), "2": frozenset()}
        assert person.ear.messages == []

    def test_unknown_classes_are_named(self, tmp_path: Path) -> None:
        def corrects(person: Person) -> None:
            write(person.own, {"1": "sport", "2": '["food"]'})

        person = Person(tmp_path, corrects, several=True)
        write(person.own, {"1": "sport;fun", "2": " ; "})
        assert person.annotator.label(TEXTS) == {"1": frozenset(["sport"]), "2": frozenset(["food"])}
        assert person.ear.messages == [
            f"{person.own}: 'fun' of id '1' is not a class; use one of sport, food.",
            f"{person.own}, id '2': ';' names no class; write [] for none of them, or leave it empty for unknown.",
        ]

    def test_a_changed_label_is_reported_but_not_another_spelling(self, tmp_path: Path) -> None:
        person = Person(tmp_path, several=True)
        write(person.own, {"1": "sport;food", "2": "[]"})
        person.annotator.label(TEXTS)
        write(person.own, {"1": '["food", "sport"]', "2": "food", "3": "food"})
        person.annotator.label({"3": "soup"})
        (message,) = person.ear.messages
        assert message.startswith(f"{person.own}: id '2' is now 'food', but the run learns from its first label, '[]'")

    def test_a_file_of_other_labels_is_refused_before_a_run(self, tmp_path: Path) -> None:
        reader = CellReader(CLASSES, several=True)
        write(tmp_path / "mine.csv", {"1": '["sport"]'})
        check_labels_file(tmp_path / "mine.csv", reader, {"1"})
        write(tmp_path / "mine.csv", {"1": '["fun"]'})
        with pytest.raises(UserError, match=r"no row fits the task, such as id '1' with label '\[\"fun\"\]'"):
            check_labels_file(tmp_path / "mine.csv", reader, {"1"})


def write(path: Path, cells: dict[str, str]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("id", "label"), *cells.items()])
