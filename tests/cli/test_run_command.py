from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
from transformers import AutoModelForSequenceClassification

from hybridal.backbones import load_backbone
from hybridal.cli.options import RunOptions
from hybridal.cli.result import with_shown_figures
from hybridal.cli.run_command import default_folder, resolve
from hybridal.cli.screen import COLUMNS
from hybridal.core.rules import protocol
from hybridal.errors import UserError
from hybridal.measures.advice import Advice, advice, advise, texts_left
from hybridal.runs.assemble import find_task
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import DEMO, Settings
from hybridal.testing.small import toy_file, toy_task
from tests.helpers.topic_encoder import topic_encoder
from tests.models.test_encoder_check import decoder

from .conftest import BEST, SMALL, SWITCHING, hybridal
from .laboratory import write_rows


def strict(text: str) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


WATCHED = """
import runpy, sys
import hybridal.reports.run_report as report
report.panels = lambda *_: []  # drawing takes longer than a run
for arguments in {runs!r}:
    sys.argv = ["hybridal", *arguments]
    try:
        runpy.run_module("hybridal", run_name="__main__")
    except SystemExit as done:
        assert not done.code, done.code
print(*sorted({heavy!r} & sys.modules.keys()), file=sys.stderr)
"""


class TestRun:
    def test_run_with_an_own_encoder_skips_slow_imports(self, pool: tuple[str, ...], tmp_path: Path) -> None:
        folders = {tmp_path / "best": BEST, tmp_path / "small": SMALL}
        runs = [["run", *pool, *options, "--quiet", "--out", str(folder)] for folder, options in folders.items()]
        heavy = {"transformers", "huggingface_hub", "torch._dynamo", "sympy", "pandas", "sklearn", "scipy.stats"}
        script = WATCHED.format(runs=runs, heavy={*heavy, "torch", "tokenizers"})
        done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=120)
        assert done.stderr.split() == ["tokenizers", "torch"]
        for folder in folders:
            model = AutoModelForSequenceClassification.from_pretrained(folder / "model")
            assert type(model).__name__ == "BertForSequenceClassification"

    def test_table_for_people(self, toy: tuple[str, ...], tmp_path: Path) -> None:
        folder = tmp_path / "run"
        ended = hybridal("run", *toy, *SMALL, *SWITCHING, "--out", folder)
        assert (ended.code, ended.stderr) == (0, "")
        lines = ended.stdout.splitlines()
        assert lines[:2] == [f"Run folder: {folder}", "Encoder: tiny."]
        assert lines[2].split() == list(COLUMNS)
        rows = [line.split() for line in lines[3:7]]
        assert [row[:4] for row in rows] == [
            ["1", "retrain", "12", "2"],
            ["2", "retrain", "16", "2"],
            ["3", "finetune", "20", "2"],
            ["4", "finetune", "24", "2"],
        ]
        assert [row[10] for row in rows] == ["0/1", "t*=2", "t*=2", "t*=2"]
        assert lines[7].startswith("Switch: accuracy changed by less than 0.9 in 1 round, up to round 2;")
        assert lines[8].startswith("Test: accuracy ")
        assert lines[8].endswith(" on 30 texts.")
        assert lines[9].startswith("The model is no better than guessing: it is right on 15 of 30 test texts")
        assert lines[10:] == [f"Model: {folder}/model", f"Report: {folder}/report.html"]
        assert (folder / "model" / "config.json").is_file()
        assert (folder / "report.html").is_file()

    def test_json_for_programs(self, toy: tuple[str, ...], tmp_path: Path) -> None:
        folder = tmp_path / "run"
        ended = hybridal(
            "run", *toy, *SMALL, "--schedule", "fixed:3", "--signals", "loss,f1", "--out", folder, "--json"
        )
        assert (ended.code, ended.stderr) == (0, "")
        result = strict(ended.stdout)
        assert list(result) == ["folder", "schedule", "t_star", "update_sequence", "guessing", "rounds"]
        assert (result["folder"], result["schedule"]) == (str(folder), "fixed:3")
        assert (result["t_star"], result["update_sequence"]) == (None, "RRFF")
        assert result["rounds"] == [
            json.loads(json.dumps(with_shown_figures(record))) for record in RunFolder(folder).history()
        ]
        assert set(result["rounds"][0]["changes"]) == {"loss", "f1"}

    def test_by_default_it_is_best_and_automatic(self, pool: tuple[str, ...], tmp_path: Path) -> None:
        folder = tmp_path / "run"
        ended = hybridal("run", *pool, *BEST, "--out", folder)
        assert (ended.code, ended.stderr) == (0, "")
        settings, history = RunFolder(folder).settings(), RunFolder(folder).history()
        assert (settings.protocol, settings.schedule, settings.stop) == ("best", "auto", "never")
        assert [record.cost.steps > 0 for record in history] == [
            False,
            *(record.update != "refit" for record in history[1:]),
        ]
        assert (history[-1].update, history[-1].reason) == ("finetune:3", "the last round")
        assert [record.update for record in history[:2]] == ["retrain", "retrain"]
        assert [record.validation.n for record in history if record.validation] == [3, 5, 7, 9]
        lines = ended.stdout.splitlines()
        assert [line.split()[:3] for line in lines[3:7]] == [
            [str(record.round), record.update, str(record.labels)] for record in history
        ]
        assert len({len(line) for line in lines[2:7]}) == 1, "the columns are not aligned"
        assert lines[7].startswith("Schedule auto: retrain in rounds 1–2 (the encoder is untrained)")
        left = texts_left(history, len(RunFolder(folder).task().train), shares=True)
        assert lines[8] == advise(history, 2, left).sentence
        assert lines[9].startswith("Test: accuracy ")
        told = (folder / "report.html").read_text()
        assert "In round 1 there were too few labels to train on" in told
        assert "In round 2 (the encoder is untrained)" in told

    def test_run_may_stop_early(self, pool: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        enough = Advice(True, None, "You can stop.")
        for name in ("hybridal.runs.run.advise", "hybridal.measures.advice.advise"):
            monkeypatch.setattr(name, lambda history, *_: enough if len(history) >= 3 else advice([], 2))
        longer = [*BEST, "--rounds", 6]
        folder = tmp_path / "run"
        ended = hybridal("run", *pool, *longer, "--stop", "auto", "--out", folder)
        assert (ended.code, ended.stderr) == (0, "")
        history = RunFolder(folder).history()
        assert [record.round for record in history] == [1, 2, 3, 4]
        assert history[3].labels == history[2].labels  # a last round over all labels, without new ones
        assert history[-1].test is not None
        lines = ended.stdout.splitlines()
        assert [line.split()[0] for line in lines[3:7]] == ["1", "2", "3", "4"]
        assert lines[8] == "You can stop."
        assert lines[9].startswith("Test: accuracy ")
        assert (folder / "model" / "config.json").is_file()
        assert "The run ended by itself after 4 of 6 rounds" in (folder / "report.html").read_text()

        again = hybridal("resume", folder, "--json")
        assert len(strict(again.stdout)["rounds"]) == 4, "a run that stopped by itself went on"
        assert hybridal("run", *pool, *longer, "--stop", "never", "--out", tmp_path / "on", "--quiet").code == 0
        assert len(RunFolder(tmp_path / "on").history()) == 6

    def test_quiet_run_prints_nothing(self, toy: tuple[str, ...], tmp_path: Path) -> None:
        ended = hybridal("run", *toy, *SMALL, "--out", tmp_path / "run", "--quiet")
        assert (ended.code, ended.stdout, ended.stderr) == (0, "", "")
        assert (tmp_path / "run" / "report.html").is_file()

    def test_a_file_of_lines_with_numbers_for_labels(self, tmp_path: Path) -> None:
        task = toy_task()
        lines = [
            json.dumps({"Review Text": text, "Stars (1-5)": int(label) + 1})
            for text, label in zip(task.train.texts, task.train.labels, strict=True)
        ]
        (tmp_path / "reviews.jsonl").write_text("\n".join(lines))
        columns = ("--text", "Review Text", "--label", "Stars (1-5)")
        options = (*columns, *SMALL, "--rounds", "1", "--test-every-round", "--out", tmp_path / "run", "--quiet")
        assert hybridal("run", tmp_path / "reviews.jsonl", *options).code == 0
        folder = RunFolder(tmp_path / "run")
        assert folder.task().classes == ("1", "2")
        assert folder.history()[0].test is not None

    def test_every_option_arrives(self, toy: tuple[str, ...], tmp_path: Path) -> None:
        options = (
            *("--classes", "food,sport", "--max-words", "15", "--acquisition", "margin", "--signals", "loss"),
            *("--calibrate", "--seed", "0", "--test-every-round", "--schedule", "newonly", "--quiet"),
        )
        assert hybridal("run", *toy, *SMALL, *options, "--rounds", "2", "--out", tmp_path / "run").code == 0
        folder = RunFolder(tmp_path / "run")
        settings = folder.settings()
        assert settings == Settings(
            task=toy[0],
            label="label",
            id="id",
            validation=toy[toy.index("--validation") + 1],
            test=toy[toy.index("--test") + 1],
            classes=("food", "sport"),
            max_words=15,
            backbone="tiny",
            protocol="quick",
            overrides={
                "candidates": 40,
                "max_epochs": 2,
                "learning_rate": 1e-3,
                "train_batch": 8,
                "rounds": 2,
                "initial": 12,
                "batch": 4,
                "calibrate": True,
            },
            schedule="newonly",
            acquisition="margin",
            signals=("loss",),
            seed=0,
            device="cpu",
            test_every_round=True,
        )
        assert folder.task().classes == ("food", "sport")
        assert all(record.test is not None for record in folder.history())

    def test_a_folder_that_holds_a_run_is_left_alone(self, unbroken: Path, toy: tuple[str, ...]) -> None:
        before = (unbroken / "rounds.jsonl").read_bytes()
        ended = hybridal("run", *toy, *SMALL, "--out", unbroken)
        assert ended.code == 2
        assert ended.stderr == (
            f"hybridal: {unbroken} holds a run already; go on with `hybridal resume {unbroken}`, "
            "or choose another --out.\n"
        )
        assert (unbroken / "rounds.jsonl").read_bytes() == before

    def test_the_folder_is_named_after_task_and_schedule(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        settings = Settings("some/where/mail.csv", schedule="hybrid:accuracy:0.005:2")
        folder = default_folder(settings)
        assert folder.parent == Path("runs")
        assert folder.name.startswith("mail-hybrid-accuracy-0.005-2-20")
        time.sleep(0.002)
        assert default_folder(settings) != folder, "a script begins several runs in the same second"


class TestDryRun:
    @pytest.fixture(autouse=True)
    def in_a_folder_of_its_own(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_arguments: object) -> NoReturn:
            raise AssertionError("this is a dry run")

        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("hybridal.runs.run.build_loop_model", refuse)
        monkeypatch.setattr("hybridal.runs.checks.load_backbone", refuse)

    def test_dry_run_prints_the_plan_and_writes_nothing(self, toy: tuple[str, ...], tmp_path: Path) -> None:
        ended = hybridal("run", *toy, *SMALL, *SWITCHING, "--dry-run", "--out", "run")
        assert ended.code == 0
        plan = strict(ended.stdout)
        assert plan["texts"] == {"train": 120, "validation": 40, "test": 30}
        assert plan["classes"] == ["food", "sport"]
        assert (plan["rounds"], plan["labels"], plan["schedule"]) == (4, 24, "hybrid:accuracy:0.9:1")
        assert plan["protocol"]["learning_rate"] == 1e-3
        assert list(tmp_path.iterdir()) == []

    def test_the_defaults_measure_on_a_share_of_the_labels(self, toy: tuple[str, ...], texts: Path) -> None:
        plan = strict(hybridal("run", texts / "train.csv", "--label", "label", "--dry-run").stdout)
        rules = plan["protocol"]
        assert (rules["name"], plan["schedule"], rules["validation"]) == ("best", "auto", "share")
        assert (rules["initial"], plan["rounds"]) == (50, 25)
        assert plan["texts"]["validation"] == 0
        assert plan["labels"] == plan["texts"]["train"], "more labels than texts were promised"
        named = strict(hybridal("run", *toy, "--dry-run").stdout)
        assert named["protocol"]["validation"] == "fixed"
        assert named["texts"] == {"train": 120, "validation": 40, "test": 30}

    def test_dry_run_runs_the_encoder(self, toy: tuple[str, ...], tmp_path: Path) -> None:
        decoder("gpt2", load_backbone("tiny", toy_task()), tmp_path / "gpt2")
        ended = hybridal("run", *toy, "--backbone", tmp_path / "gpt2", "--dry-run", "--out", "run")
        assert ended.code == 2
        assert "(gpt2) cannot classify texts" in ended.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["gpt2"]

    def test_dry_run_prints_one_line_of_json(self, toy: tuple[str, ...]) -> None:
        ended = hybridal("run", *toy, *SMALL, "--dry-run", "--json", "--quiet")
        assert ended.stdout.count("\n") == 1
        assert strict(ended.stdout)["rounds"] == 4

    def test_dry_run_is_quiet(self, toy: tuple[str, ...]) -> None:
        assert hybridal("run", *toy, *SMALL, "--dry-run", "--quiet").stdout == ""

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            (("--schedule", "sometimes"), "There is no schedule named 'sometimes'; there are anchor, auto,"),
            (("--schedule", "hybrid:accuracie"), "named 'accuracie'; did you mean 'accuracy'?"),
            (("--schedule", "fixed"), "'fixed' is not a valid spec for the schedule 'fixed': write fixed:F"),
            (("--schedule", "retrain:5"), "update 'retrain': write retrain."),
            (("--schedule", "anchor:x"), "update 'anchor': write anchor[:SHARE]."),
            (("--schedule", "anchor:2"), "its share must lie between 0 and 1, not 2."),
            (("--signals", "bogus"), "There is no signal named 'bogus'; there are accuracy,"),
            (("--acquisition", "bogus"), "There is no acquisition named 'bogus'; there are badge,"),
            (("--protocol", "bogus"), "There is no protocol named 'bogus'; there are paper, reference, best, quick."),
            (("--set", "bogus=1"), "Protocol: `bogus` is not a field of a protocol; there are arithmetic, average,"),
            (("--set", "rounds"), "--set takes FIELD=VALUE, not 'rounds'."),
            (("--set", "max_epochs=four"), "Protocol: `--set max_epochs` must be a whole number, not 'four'."),
            (("--set", "rounds=[4"), "--set rounds=[4: the value is not valid YAML;"),
            (("--set", "dropout=maybe"), "Protocol: `--set dropout` must be one of on, off, finetune, not 'maybe'."),
            (("--rounds", "0"), "Protocol: --rounds must be at least 1."),
            (("--batch", "41"), "Protocol: `--set candidates` must be at least --batch."),
            (("--schedule", "retrain", "--epsilon", "0.1"), "belong to hybrid schedules, not to 'retrain'."),
            (("--schedule", "fixed:3", "--patience", "2"), "belong to hybrid schedules, not to 'fixed:3'."),
            (("--epsilon", "0.1"), "belong to hybrid schedules, not to 'auto'."),
            (("--schedule", "hybrid", "--epsilon", "0"), "--epsilon must be a positive number, not 0.0."),
            (("--schedule", "hybrid", "--epsilon", "nan"), "--epsilon must be a positive number, not nan."),
            (("--schedule", "hybrid", "--patience", "-1"), "--patience must be "),
            (("--stop", "soon"), "The setting 'stop' must be auto or never, not 'soon'."),
            (("--schedule", "replay:some"), "must be a whole number from 0 on, or equal, not some."),
            (("--schedule", "replay:equal:sorted"), "older labels are drawn random or balanced, not sorted."),
            (
                ("--label", "topic"),
                "there is no column 'topic'; its columns are id, text, label: name yours with --text,",
            ),
            (("--test", "nowhere.csv"), "nowhere.csv: there is no such file; check the path."),
            (("--max-words", "0"), "--max-words: 0 leaves no text; ask for at least 1."),
            (("--classes", "sport"), "--classes: one class, 'sport', leaves nothing to learn; name two or more."),
            (("--labels", "."), "--labels . is a folder; name a CSV file in it, which need not exist yet."),
            (("--labels", "nowhere/mine.csv"), "--labels nowhere/mine.csv: there is no folder nowhere; create it, or"),
            (("--device", "abacus"), "--device 'abacus' is not a device"),
            (("--config", "nowhere.yaml"), "There is no file nowhere.yaml."),
            (("--out", "/proc/run"), "The run folder /proc/run cannot be written (No such file or directory); choose"),
            (("--train-layers", "99"), "--train-layers is 99, but backbone 'tiny' has 2 layers."),
            (("--set", "max_length=100000"), "`--set max_length` is 100000, but backbone 'tiny' reads 512 tokens at"),
            (("--backbone", "minillm"), "Backbone 'minillm' is not on this machine, and HF_HUB_OFFLINE"),
            (("--backbone", "minillm"), "(did you mean 'minilm'?)"),
            (("--backbone", "./nowhere"), "Backbone './nowhere' is not a folder; check the path"),
            (("--label", "text"), "--label names the column 'text', which holds the texts; name another."),
            (("--label", "id", "--id", "id"), "--label names the column 'id', which holds the ids; name another."),
        ],
    )
    def test_unusable_options_get_one_sentence(
        self, options: tuple[str, ...], sentence: str, toy: tuple[str, ...], tmp_path: Path
    ) -> None:
        ended = hybridal("run", *toy, *SMALL, *options, "--dry-run")
        assert (ended.code, ended.stdout) == (2, "")
        assert ended.stderr.startswith("hybridal: ")
        assert ended.stderr.count("\n") == 1
        assert sentence in ended.stderr
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("content", "sentence"),
        [
            ("text,label\na,food\n", "labels.csv needs the columns 'id' and 'label'; it has text, label."),
            ("id,label\nx,food\n", "--labels labels.csv: no row fits the task, such as id 'x' with label 'food'"),
            ("id,label\nx,\x81\x8d\n", "--labels labels.csv cannot be read ("),
        ],
    )
    def test_unusable_labels_file_is_refused(
        self, content: str, sentence: str, toy: tuple[str, ...], tmp_path: Path
    ) -> None:
        (tmp_path / "labels.csv").write_bytes(content.encode("latin-1"))
        ended = hybridal("run", *toy, *SMALL, "--labels", "labels.csv", "--dry-run")
        assert (ended.code, ended.stdout) == (2, "")
        assert sentence in ended.stderr

    def test_dry_run_names_downloads(
        self, toy: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HYBRIDAL_CACHE", str(tmp_path / "cache"))
        ended = hybridal("run", *toy, *SMALL, "--backbone", "mpnet", "--dry-run")
        assert strict(ended.stdout)["backbone"] == "mpnet"
        assert ended.stderr == (
            "Backbone 'mpnet' is not on this machine yet: the run downloads it first, and its files are not checked.\n"
        )

    @pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
    def test_a_gpu_that_is_not_there(self, toy: tuple[str, ...]) -> None:
        ended = hybridal("run", *toy, *SMALL, "--device", "cuda", "--dry-run")
        assert ended.code == 2
        assert ended.stderr == (
            "hybridal: --device cuda was asked for, but torch sees no such GPU here; use --device cpu.\n"
        )

    @pytest.mark.parametrize(
        ("name", "content", "sentence"),
        [
            ("empty.csv", "", "empty.csv: the file is empty; give one with a text per row."),
            ("head.csv", "text,label\n", "head.csv: the file has no rows; give one with a text per row."),
            ("one.csv", "text,label\na,x\nb,x\n", "one.csv: every label is 'x'; two classes or more are needed,"),
            ("few.csv", "text,label\na,x\nb,y\nc,x\nd,y\n", "too few for an initial pool of 12; add texts or lower"),
            ("texts.doc", "a", "texts.doc: the extension '.doc' is not known; use one of .csv,"),
            ("missing.csv", None, "missing.csv: there is no such file; check the path."),
            ("newsgroup", None, "There is no task 'newsgroup' (did you mean 'newsgroups'?); name one of "),
        ],
    )
    def test_common_beginner_files_are_read_or_refused_with_advice(
        self, name: str, content: str | None, sentence: str, tmp_path: Path
    ) -> None:
        if content is not None:
            (tmp_path / name).write_text(content)
        ended = hybridal("run", name, "--label", "label", *SMALL, "--dry-run")
        assert ended.code == 2
        assert sentence in ended.stderr
        assert ended.stderr.count("\n") == 1

    @pytest.mark.parametrize("name", ["folder.csv", "folder"])
    def test_a_folder_is_not_a_file(self, name: str, tmp_path: Path) -> None:
        (tmp_path / name).mkdir()
        ended = hybridal("run", name, "--label", "label", *SMALL, "--dry-run")
        assert ended.code == 2
        assert ended.stderr.startswith(
            ("hybridal: folder.csv: cannot be read (Is a directory);", "hybridal: There is no task 'folder'; name one")
        )

    def test_a_class_of_three(self, tmp_path: Path) -> None:
        task = toy_task()
        rows = [(text, task.classes[label]) for text, label in zip(task.train.texts, task.train.labels, strict=True)]
        write_rows(tmp_path / "rare.csv", ["text", "label"], [*rows, *(("strange words", "rare") for _ in range(3))])
        ended = hybridal("run", "rare.csv", "--label", "label", *SMALL, "--dry-run")
        assert ended.code == 2
        assert "Class 'rare' of task 'rare' has 2 labelled texts, too few for the 4 that the initial" in ended.stderr
        assert "--set initial_draw=proportional" in ended.stderr
        proportional = ("--set", "initial_draw=proportional")
        assert hybridal("run", "rare.csv", "--label", "label", *SMALL, *proportional, "--dry-run").code == 0

    def test_labels_that_differ_only_in_capitals(self, tmp_path: Path) -> None:
        write_rows(tmp_path / "mail.csv", ["text", "label"], [(f"text {n}", ("Bug", "bug")[n % 2]) for n in range(60)])
        ended = hybridal("run", "mail.csv", "--label", "label", *SMALL, "--dry-run")
        assert strict(ended.stdout)["classes"] == ["Bug", "bug"]
        assert ended.stderr.startswith("mail.csv: 'Bug' and 'bug' are different classes, though ")
        assert ended.stderr.count("\n") == 1


class TestConfig:
    def write(self, tmp_path: Path, content: str) -> Path:
        (tmp_path / "settings.yaml").write_text(content)
        return tmp_path / "settings.yaml"

    def test_a_run_from_a_file_with_options_on_top(self, toy: tuple[str, ...], tmp_path: Path) -> None:
        config = self.write(
            tmp_path,
            f"task: {toy[0]}\nlabel: label\nid: id\nvalidation_size: 20\nbackbone: tiny\nprotocol: quick\ndevice: cpu\n"
            "schedule: hybrid:accuracy\nsignals: [loss]\nclasses: [sport, food]\nseed: 7\n"
            "overrides: {rounds: 9, initial: 12, batch: 4, max_epochs: 1}\n",
        )
        folder = tmp_path / "run"
        options = ("--rounds", "1", "--set", "max_epochs=2", "--seed", "0", "--epsilon", "0.25", "--out", folder)
        assert hybridal("run", "--config", config, *options, "--quiet").code == 0
        settings = RunFolder(folder).settings()
        assert settings.overrides == {"rounds": 1, "initial": 12, "batch": 4, "max_epochs": 2}
        assert (settings.seed, settings.schedule) == (0, "hybrid:accuracy:0.25:2")
        assert (settings.signals, settings.classes) == (("loss",), ("sport", "food"))
        assert (settings.validation_size, settings.backbone) == (20, "tiny")

    def test_the_command_line_names_another_task(self, tmp_path: Path) -> None:
        config = self.write(tmp_path, "task: a.csv\nseed: 3\n")
        settings = resolve(RunOptions({"task": "b.csv"}, config))
        assert (settings.task, settings.seed) == ("b.csv", 3)

    def test_without_a_task_the_demo_is_changed(self, tmp_path: Path) -> None:
        config = self.write(tmp_path, "seed: 3\noverrides: {rounds: 2}\n")
        settings = resolve(RunOptions({"overrides": {"batch": 8}}, config))
        assert settings == DEMO.with_changes({"seed": 3, "overrides": {"rounds": 2, "batch": 8}})
        assert resolve(RunOptions({"overrides": {}})) == DEMO

    def test_the_demos_numbers_go_with_its_protocol(self, tmp_path: Path) -> None:
        config = self.write(tmp_path, "protocol: paper\noverrides: {rounds: 2}\n")
        for settings in (
            resolve(RunOptions({"overrides": {}}, config)),
            resolve(RunOptions({"protocol": "paper", "overrides": {"rounds": 2}})),
        ):
            assert (settings.task, settings.classes) == (DEMO.task, DEMO.classes)
            assert settings.rules == protocol("paper", {"rounds": 2})
            assert settings.acquisition_spec == "entropy"

    def test_the_demo_uses_the_named_options(self, tmp_path: Path) -> None:
        config = self.write(tmp_path, "protocol: paper\nacquisition: badge\n")
        assert resolve(RunOptions({"overrides": {}}, config)).acquisition_spec == "badge"
        assert (
            resolve(RunOptions({"protocol": "paper", "acquisition": "random", "overrides": {}})).acquisition_spec
            == "random"
        )
        assert resolve(RunOptions({"overrides": {}})).acquisition_spec == "margin"

    def test_epsilon_and_patience_replace_the_schedules_own(self) -> None:
        settings = resolve(RunOptions({"task": "a.csv", "schedule": "hybrid:loss:0.5:7"}, epsilon=0.25))
        assert settings.schedule == "hybrid:loss:0.25:7"

    @pytest.mark.parametrize(
        ("content", "sentence"),
        [
            ("a: [1", "is not valid YAML: "),
            ("- 1\n", "must hold `name: value` lines."),
            ("shedule: retrain\n", "'shedule' is not a setting; did you mean 'schedule'?"),
            ("rounds: 4\n", "'rounds' is a field of the protocol; write it under `overrides`."),
            ("seed: many\n", "The setting 'seed' must be a whole number, not 'many'."),
            ("classes: sport\n", "The setting 'classes' must be a list like [one, other] or null, not 'sport'."),
            ("overrides: 4\n", "The setting 'overrides' must be names with their values, not 4."),
            ("test_every_round: 1\n", "The setting 'test_every_round' must be true or false, not 1."),
        ],
    )
    def test_bad_settings_file_is_refused(self, content: str, sentence: str, tmp_path: Path) -> None:
        with pytest.raises(UserError) as caught:
            resolve(RunOptions({}, self.write(tmp_path, content)))
        assert sentence in str(caught.value)


class TestSeveralLabels:
    """A text may have several labels."""

    @pytest.fixture(autouse=True)
    def in_a_folder_of_its_own(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        rows = [("goal", "sport", 1, 0), ("soup at the match", "sport;food", 1, 1), ("a stone", "[]", 0, 0)] * 30
        lines = [f"{text} {n},{labels},{sport},{food}" for n, (text, labels, sport, food) in enumerate(rows)]
        Path("t.csv").write_text("\n".join(["text,labels,sport,food", *lines]) + "\n")

    @pytest.mark.parametrize(
        ("options", "is_inferred"),
        [
            (("--label", "labels", "--multi-label", "--label-separator", ";"), False),
            (("--label", "labels", "--label-separator", ";"), True),
            (("--label", "sport", "--label", "food"), False),
        ],
    )
    def test_every_way_to_name_them_makes_the_same_plan(self, options: tuple[str, ...], is_inferred: bool) -> None:
        ended = hybridal("run", "t.csv", "--text", "text", *options, "--classes", "food,sport", *SMALL, "--dry-run")
        assert ended.code == 0, ended.stderr
        assert strict(ended.stdout)["classes"] == ["food", "sport"]
        assert strict(ended.stdout)["multi_label"] is True
        assert ("as its labels are written, a text may have several classes" in ended.stderr) == is_inferred

    @pytest.mark.parametrize(
        ("written", "label"),
        [({"label": ["sport", "food"]}, ("sport", "food")), ({"label": "labels", "label_separator": ";"}, "labels")],
    )
    def test_settings_of_a_file(self, written: dict[str, Any], label: Any) -> None:
        Path("run.yaml").write_text(json.dumps({"task": "t.csv", "multi_label": True, **written}))
        settings = resolve(RunOptions({}, Path("run.yaml")))
        assert (settings.label, settings.multi_label) == (label, True)
        assert find_task(settings).multi_label

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            (("--label", "sport", "--label", "food", "--label-separator", ";"), "--label-separator is for one column"),
            (("--label", "labels", "--label-separator", ""), "--label-separator is empty; name what stands between"),
            (("--label", "sport", "--label", "drinks"), "there is no column 'drinks'"),
        ],
    )
    def test_contradictions_get_one_sentence(self, options: tuple[str, ...], sentence: str) -> None:
        ended = hybridal("run", "t.csv", *options, *SMALL, "--dry-run")
        assert (ended.code, ended.stdout) == (2, "")
        assert sentence in ended.stderr
        assert ended.stderr.count("\n") == 1


def test_the_result_names_the_encoder_that_the_labels_chose(tmp_path: Path) -> None:
    encoder = topic_encoder(toy_task(train=90), tmp_path / "topics")
    texts = (toy_file(tmp_path), "--text", "body", "--label", "kind", "--out", tmp_path / "run")
    options = ("--backbone", f"auto:tiny,{encoder}", "--device", "cpu", "--rounds", "1", "--set", "max_epochs=1")
    ended = hybridal("run", *texts, *options, "--set", "min_steps=0")
    assert ended.code == 0
    assert f"The labels chose the encoder {encoder}: log loss " in ended.stdout
