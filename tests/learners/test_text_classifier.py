from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from hybridal import ActiveLearner, TextClassifier
from hybridal.errors import UserError
from hybridal.learners import text_classifier as module
from hybridal.runs.export import export_model
from hybridal.testing.small import toy_task

TASK = toy_task(train=60, validation=20, test=25, classes=3)


@pytest.fixture(scope="module", params=["first", "mean"])
def learner(request: pytest.FixtureRequest) -> ActiveLearner:
    rules: dict[str, Any] = {"batch": 20, "max_length": 12, "max_epochs": 4, "learning_rate": 2e-3}
    learner = ActiveLearner(
        TASK, backbone="tiny", protocol="paper", schedule="retrain", device="cpu", pooling=request.param, **rules
    )
    learner.teach(TASK.answers(learner.query().ids))
    # As far from 1 as it may come, so that leaving it out is seen.
    learner._learnt[-1] = replace(learner._learnt[-1], temperature=3.0)
    return learner


@pytest.fixture(scope="module")
def folder(learner: ActiveLearner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("saved") / "model"
    model = learner.transformer
    export_model(model.classifier, model.encoder, TASK, learner.settings, learner.history[-1], target)
    return target


def test_exported_classifier_predicts_as_the_learner(learner: ActiveLearner, folder: Path) -> None:
    texts = [*TASK.test.texts, "goal " * 50, ""]
    saved = TextClassifier.load(folder, "cpu")
    found = saved.predict_proba(texts)
    np.testing.assert_allclose(found, learner.predict_proba(texts), atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert saved.classes == TASK.classes
    expected = [TASK.classes[best] for best in found.argmax(axis=1)]
    assert saved.predict(texts).tolist() == learner.predict(texts).tolist() == expected


def test_the_model_of_a_run_is_found_in_its_folder(learner: ActiveLearner, folder: Path, tmp_path: Path) -> None:
    run = learner.save(tmp_path / "run")
    with pytest.raises(UserError, match=r"has no model folder yet; use ActiveLearner\.load"):
        TextClassifier.load(run)
    shutil.copytree(folder, run / "model")
    assert TextClassifier.load(run, "cpu").classes == TASK.classes


@pytest.mark.parametrize("nothing", [None, float("nan"), 7])
def test_wrong_type_of_text_is_named(folder: Path, nothing: Any) -> None:
    with pytest.raises(UserError, match=f"X: number 1 is {nothing}, not a text"):
        TextClassifier.load(folder, "cpu").predict(["fine", nothing])


def test_plain_transformers_gives_the_same_probabilities(learner: ActiveLearner, folder: Path) -> None:
    from transformers import pipeline

    classify = pipeline("text-classification", model=str(folder), device="cpu")
    texts = [*TASK.test.texts[:10], "goal " * 50]
    answers = classify(texts, truncation=True, top_k=None, batch_size=4)
    theirs = [[{one["label"]: one["score"] for one in each}[name] for name in TASK.classes] for each in answers]
    np.testing.assert_allclose(theirs, learner.predict_proba(texts), atol=1e-4)


def test_a_folder_of_an_earlier_edition_is_refused(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    about = json.loads((copy / "hybridal.json").read_text())
    del about["pooling"]
    (copy / "hybridal.json").write_text(json.dumps(about))
    with pytest.raises(UserError, match="was exported by an unpublished version of hybridal; export its run again"):
        TextClassifier.load(copy, "cpu")


def test_texts_are_cut_where_they_were_in_training(folder: Path) -> None:
    saved = TextClassifier.load(folder, "cpu")
    one, other = saved.predict_proba(["goal " * 30 + "bread", "goal " * 30 + "moon"])
    assert np.array_equal(one, other)


def test_texts_beyond_a_chunk_are_answered_alike(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = TextClassifier.load(folder, "cpu")
    whole = saved.predict_proba(TASK.test.texts)
    monkeypatch.setattr(module, "CHUNK", 7)
    np.testing.assert_allclose(saved.predict_proba(TASK.test.texts), whole, atol=1e-6)


def test_predict_of_no_texts_is_empty(folder: Path) -> None:
    saved = TextClassifier.load(folder, "cpu")
    assert saved.predict_proba([]).shape == (0, 3)
    assert saved.predict([]).tolist() == []


def test_a_folder_that_is_no_exported_model(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"{tmp_path} is neither an exported model nor a run"):
        TextClassifier.load(tmp_path)


def test_a_loaded_model_is_saved_as_it_was_loaded(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "one")
    shutil.copytree(folder, tmp_path / "older")
    (tmp_path / "older" / "README.md").write_text("an older model")
    loaded = TextClassifier.load(tmp_path / "one", "cpu")
    shutil.rmtree(tmp_path / "one")
    again = TextClassifier.load(loaded.save(tmp_path / "older"), "cpu")
    assert (again.predict_proba(TASK.test.texts) == loaded.predict_proba(TASK.test.texts)).all()
    for name in ("README.md", "hybridal.json", "tokenizer.json"):
        assert (tmp_path / "older" / name).read_bytes() == (folder / name).read_bytes()


def test_learner_whose_model_was_exported_can_be_copied(learner: ActiveLearner) -> None:
    model, twin = learner.model, copy.deepcopy(learner)
    np.testing.assert_allclose(
        twin.model.predict_proba(TASK.test.texts), model.predict_proba(TASK.test.texts), atol=1e-6
    )
    twin.teach(TASK.answers(twin.query().ids))
    assert (len(twin.history), len(learner.history)) == (2, 1)
    assert learner.model is model


@pytest.mark.parametrize("name", ["hybridal.json", "config.json", "model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("content", [None, b"", b"\x00\xff" * 50, b"[]", b"{}"])
def test_a_damaged_folder_is_refused_in_one_sentence(
    name: str, content: bytes | None, folder: Path, tmp_path: Path
) -> None:
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    if content is None:
        (damaged / name).unlink()
    else:
        (damaged / name).write_bytes(content)
    with pytest.raises(UserError, match="damaged"):
        TextClassifier.load(damaged, "cpu")


def changed(folder: Path, name: str, **fields: Any) -> None:
    (folder / name).write_text(json.dumps({**json.loads((folder / name).read_text()), **fields}))


def test_a_head_is_never_drawn_for_a_finished_model(folder: Path, tmp_path: Path) -> None:
    model = shutil.copytree(folder, tmp_path / "model")
    changed(model, "hybridal.json", classes=["a", "b", "c", "d"])
    changed(model, "config.json", id2label=dict(enumerate("abcd")), label2id={name: i for i, name in enumerate("abcd")})
    with pytest.raises(UserError, match=r"model.* (4 classes; copy the folder|4 classes: its .* has another shape)"):
        TextClassifier.load(model, "cpu")


def test_a_model_without_the_weights_of_its_head_is_refused(folder: Path, tmp_path: Path) -> None:
    model = shutil.copytree(folder, tmp_path / "model")
    weights = load_file(model / "model.safetensors")
    save_file(
        {k: v for k, v in weights.items() if "classifier" not in k}, model / "model.safetensors", {"format": "pt"}
    )
    with pytest.raises(UserError, match=r"model is damaged: it .*classifier\.weight.*; copy "):
        TextClassifier.load(model, "cpu")


def test_weights_of_another_shape_than_the_configuration_are_named(folder: Path, tmp_path: Path) -> None:
    model = shutil.copytree(folder, tmp_path / "model")
    changed(model, "config.json", vocab_size=7)
    expected = (
        r"'model' .*its `.*word_embeddings\.weight` has another shape than its config\.json says; copy or download"
    )
    with pytest.raises(UserError, match=expected):
        TextClassifier.load(model, "cpu")


def test_labels_that_are_no_numbers_although_the_folder_says_so(folder: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    about = json.loads((damaged / "hybridal.json").read_text())
    (damaged / "hybridal.json").write_text(json.dumps({**about, "labels": "int"}))
    with pytest.raises(UserError, match=r"hybridal\.json is damaged: its classes are no ints; export the model again"):
        TextClassifier.load(damaged, "cpu")


@pytest.mark.parametrize("save", [TextClassifier.save, TextClassifier.save_onnx])
def test_a_place_that_cannot_be_written_to_is_refused(
    save: Callable[[TextClassifier, Path], Path], folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"The model cannot be written to .*file/model \(.*\); make room there"):
        save(TextClassifier.load(folder, "cpu"), tmp_path / "file" / "model")


CHANGES: dict[str, Callable[[list[str]], list[str]]] = {
    "one more": lambda names: [*names, "more"],
    "another order": lambda names: names[::-1],
    "one name for all": lambda names: names[:1] * len(names),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_classes_that_are_not_those_of_the_weights_are_refused(
    change: Callable[[list[str]], list[str]], folder: Path, tmp_path: Path
) -> None:
    damaged = Path(shutil.copytree(folder, tmp_path / "damaged"))
    about = json.loads((damaged / "hybridal.json").read_text())
    (damaged / "hybridal.json").write_text(json.dumps({**about, "classes": change(about["classes"])}))
    with pytest.raises(UserError, match=r"hybridal\.json is damaged: its classes are not the `id2label` of config"):
        TextClassifier.load(damaged, "cpu")


def test_a_path_with_a_nul_character_is_refused(folder: Path) -> None:
    model = TextClassifier.load(folder, "cpu")
    for act in (model.save, model.save_onnx, TextClassifier.load):
        with pytest.raises(UserError, match=r"^The path 'a\\x00b' contains a NUL character; name another\.$"):
            act("a\0b")


def test_a_seed_that_is_not_a_whole_number_is_refused_by_its_own_name() -> None:
    with pytest.raises(UserError, match=r"^`seed` must be a whole number, not 1\.5; ") as told:
        TextClassifier("tiny", seed=1.5, device="cpu").fit(TASK.train.texts, TASK.train.labels)  # type: ignore[arg-type]
    assert told.value.field == "seed"


def test_onnx_is_written_to_a_folder_that_is_not_there_yet(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def export(module: Any, tokenizer: Any, classes: Any, target: Path, thresholds: Any) -> Path:
        (target / "model.onnx").touch()
        return target / "model.onnx"

    monkeypatch.setattr("hybridal.models.export.onnx_export.export_onnx", export)
    assert TextClassifier.load(folder, "cpu").save_onnx(tmp_path / "new" / "onnx").is_file()


def test_thresholds_in_config_and_card_are_those_that_the_loaded_model_promises(tmp_path: Path) -> None:
    rows = toy_task(train=300).train
    few_steps = {"validation_share": 0.4, "validation_size": None, "min_steps": 20, "max_epochs": 2}
    model = TextClassifier("tiny", device="cpu", overrides=few_steps).fit(rows.texts, rows.labels)
    folder = model.save(tmp_path / "model")
    about, card = json.loads((folder / "config.json").read_text())["promises"], (folder / "README.md").read_text()
    again = TextClassifier.load(folder, "cpu")
    promised = {one["max_error"]: one["threshold"] for one in about["answers"]}
    assert 0.1 in promised, "120 random labels are enough for 10%"
    for limit in (0.01, 0.02, 0.05, 0.1):
        assert again.promise(limit).threshold == model.promise(limit).threshold == promised.get(limit)
        said = "nothing | –" if limit not in promised else f"{again.promise(limit).share:.0%} | {promised[limit]:.4f}"
        assert f"| at most {limit:.0%} | {said} |" in card
    for one in about["sets"]:
        assert again.evidence().set_rule(one["coverage"]).threshold == one["threshold"]
        assert f"| {one['coverage']:.0%} | {one['threshold']:.4f} |" in card
    same = again.shift(toy_task(train=300).test.texts)
    assert same is not None


def test_words_that_are_not_read_have_no_weight_and_the_others_change_the_prediction(learner: ActiveLearner) -> None:
    model = learner.model
    text = " ".join([TASK.train.texts[0]] * 8)  # the model reads 12 tokens
    found = model.explain(text)
    assert found.spans[-1][1] < len(text) / 2
    assert found.probabilities == pytest.approx(model.predict_proba([text])[0], abs=1e-5)
    start, end = found.spans[0]
    left = model.predict_proba([text[: found.spans[-1][1]][end:].lstrip()])[0]
    odds = [np.log(p / (1 - p)) for p in (found.probabilities, left)]
    assert start == 0
    assert found.weights[0] == pytest.approx(odds[0] - odds[1], abs=1e-3)
    with pytest.raises(UserError, match="explain takes one text"):
        model.explain([text])  # type: ignore[arg-type]
