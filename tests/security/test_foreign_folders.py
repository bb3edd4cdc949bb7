"""Untrusted folders of backbones, models, runs and caches: no code in them runs, no file outside them is read.

Pickles run code when they are read, even with `weights_only=True` (CVE-2025-32434, CVE-2026-24747), transformers ran
code that a configuration named (CVE-2026-4372), wrote where a chat template's name led (CVE-2026-9856), and reads what
an index of weights or a tokenizer's configuration names (its issues 46097 and 47176, its pull request 46279).
"""

from __future__ import annotations

import ast
import json
import os
import pickle
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

import hybridal
from hybridal.app.vectors import Vectors
from hybridal.backbones import Backbone, load_backbone
from hybridal.errors import UserError
from hybridal.models import token_arrays
from hybridal.models.loading import load_module
from hybridal.runs import checkpoint
from hybridal.tasks.read import read_rows
from hybridal.tasks.store import load_saved, save_task
from hybridal.testing.small import toy_task

from ..models.parts import random_backbone

SOURCES = sorted(Path(hybridal.__file__).parent.rglob("*.py"))
UNSAFE_CALLS = {
    *("pickle.load", "pickle.loads", "pickle.Unpickler", "torch.load", "joblib.load", "dill.load", "dill.loads"),
    *("marshal.loads", "shelve.open", "pandas.read_pickle", "pd.read_pickle", "yaml.load", "yaml.unsafe_load"),
    *("eval", "exec", "compile", "os.system", "os.popen", "zipfile.extractall", "archive.extractall", "tarfile.open"),
    *("shutil.unpack_archive", "pty.spawn", "runpy.run_path", "jsonpickle.decode", "cloudpickle.loads"),
}
# What is pickled there is made in the same line: that components of users can go to another process.
# What is run there with limits is a file of the package, chosen by the code.
ALLOWED = {("testing/common.py", "pickle.loads"), ("tasks/limited.py", "runpy.run_path")}


class Trap:
    """A pickle of it makes a file when it is read."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[Path]:
    """What is there once a trap went off."""
    yield tmp_path / "code ran"
    assert not (tmp_path / "code ran").exists()


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_backbone("bert", _tiny(), tmp_path_factory.mktemp("bert")).folder


@pytest.fixture(scope="module")
def electra(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of an architecture that transformers loads, not we."""
    return random_backbone("electra", _tiny(), tmp_path_factory.mktemp("electra")).folder


def _tiny() -> Path:
    return load_backbone("tiny", toy_task()).folder


def load(folder: Path, pooling: str = "first") -> None:
    """Reads a backbone whole, as a run does; it may be refused."""
    backbone = Backbone("foreign", folder)
    load_module(backbone, ("a", "b"), 1, pooling)
    backbone.encoder(16).encode(["a text"])


def change(path: Path, **fields: Any) -> None:
    known = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps({**known, **fields}))


def calls(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)
            yield from (f"{word.arg}={ast.unparse(word.value)}" for word in node.keywords if word.arg)


def test_no_loader_executes_code_from_a_file() -> None:
    forbidden = UNSAFE_CALLS | {"allow_pickle=True", "trust_remote_code=True", "weights_only=False", "shell=True"}
    package = Path(hybridal.__file__).parent
    found = {(str(path.relative_to(package)), call) for path in SOURCES for call in calls(path) if call in forbidden}
    assert found == ALLOWED


@pytest.mark.parametrize("kind", ["bert", "electra"])
def test_pickles_next_to_or_instead_of_weights_are_not_read(
    kind: str, mark: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    whole: Path = request.getfixturevalue(kind)
    for replaced in (False, True):
        folder = shutil.copytree(whole, tmp_path / f"replaced {replaced}")
        names = ("pytorch_model.bin", "model.pt", "model.ckpt", "optimizer.pt", "training_args.bin", "tokenizer.pkl")
        for name in (*names, "adapter_model.bin", "tf_model.h5", "flax_model.msgpack"):
            (folder / name).write_bytes(pickle.dumps(Trap(mark)))
        if replaced:
            (folder / "model.safetensors").unlink()
            with pytest.raises(Exception, match=r"."):
                load(folder)
        else:
            load(folder)


@pytest.mark.parametrize("kind", ["bert", "electra"])
def test_code_that_a_folder_brings_or_names_is_not_run(
    kind: str, mark: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder = shutil.copytree(request.getfixturevalue(kind), tmp_path / "copy")
    code = f"import os\nos.mkdir({str(mark)!r})\nclass Own: pass\n"
    for name in ("modeling.py", "configuration.py", "tokenization.py", "__init__.py"):
        (folder / name).write_text(code)
    kinds = ("AutoConfig", "AutoModel", "AutoModelForSequenceClassification")
    named = {kind: f"{name}.Own" for kind, name in zip(kinds, ("configuration", "modeling", "modeling"), strict=True)}
    change(folder / "config.json", auto_map=named, trust_remote_code=True)
    change(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": ["tokenization.Own", None]})
    for pooling in ("first", "mean"):
        with suppress(UserError):
            load(folder, pooling)


@pytest.mark.parametrize("kind", ["bert", "electra"])
@pytest.mark.parametrize(
    "field", ["attn_implementation", "_attn_implementation", "_attn_implementation_internal", "experts_implementation"]
)
@pytest.mark.parametrize("inside", [False, True])
def test_a_configuration_names_no_kernel_that_is_fetched_and_run(
    kind: str, field: str, inside: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder = shutil.copytree(request.getfixturevalue(kind), tmp_path / "copy")
    code = {field: "evil/kernels:run"}
    change(folder / "config.json", **({"body": code} if inside else code))
    with pytest.raises(UserError, match="names code of a hub"):
        load(folder)


@pytest.mark.parametrize("where", ["../outside.safetensors", "{}/outside.safetensors", "sub/../../outside.safetensors"])
def test_an_index_of_weights_leads_to_no_file_outside_its_folder(where: str, electra: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(electra, tmp_path / "copy")
    (folder / "sub").mkdir()
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").rename(tmp_path / "outside.safetensors")
    shard = where.format(tmp_path)
    index = {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(weights, shard)}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(UserError, match="outside"):
        load(folder, "mean")


def test_a_sharded_folder_is_still_read(electra: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(electra, tmp_path / "copy")
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    halves = [dict([*weights.items()][start::2]) for start in (0, 1)]
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    for name, half in zip(names, halves, strict=True):
        save_file(half, folder / name, {"format": "pt"})
    where = {key: name for name, half in zip(names, halves, strict=True) for key in half}
    index = {"metadata": {"total_size": 1}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    load(folder, "mean")


@pytest.mark.parametrize("name", ["vocab_file", "tokenizer_file", "merges_file", "special_tokens_map_file"])
def test_a_tokenizers_configuration_leads_to_no_file_outside(name: str, electra: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(electra, tmp_path / "copy")
    secret = tmp_path / "secret"
    secret.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhunter2\n")
    change(folder / "tokenizer_config.json", **{name: str(secret)})
    encoder = Backbone("foreign", folder).encoder(16)
    assert encoder.encode(["hunter2"])
    encoder.save(tmp_path / "saved")
    assert "hunter2" not in "".join(path.read_text() for path in (tmp_path / "saved").iterdir())


@pytest.mark.parametrize("name", ["../../escaped", "/tmp/escaped", "a/../../escaped"])
def test_the_name_of_a_chat_template_cannot_leave_the_folder(name: str, electra: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(electra, tmp_path / "copy")
    templates = [{"name": "default", "template": "x"}, {"name": name, "template": "y"}]
    change(folder / "tokenizer_config.json", chat_template=templates)
    target = tmp_path / "a" / "b" / "saved"
    Backbone("foreign", folder).encoder(16).save(target)
    assert not [*tmp_path.rglob("*.jinja"), *Path("/tmp").glob("escaped*")]


def test_caches_are_numbers_and_never_pickles(mark: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "offsets.npy", np.array([Trap(mark)], dtype=object))
    (tmp_path / "flat.i32").touch()
    with pytest.raises(ValueError, match="pickle"):
        token_arrays._read(tmp_path, 0, 0)
    vectors = Vectors(tmp_path / "vectors", "f2")
    vectors.begin({"model": "x"}, width=2)
    for name in ("values.bin", "stamps.bin"):
        (tmp_path / "vectors" / name).write_bytes(pickle.dumps(Trap(mark)))
    vectors.read()


def test_a_checkpoint_is_never_a_pickle(mark: Path, tmp_path: Path) -> None:
    (tmp_path / "round-00001.safetensors").write_bytes(pickle.dumps(Trap(mark)))
    with pytest.raises(UserError, match="is damaged"):
        checkpoint.load(tmp_path)


def test_parquet_files_of_tasks_and_uploads_bring_no_types_of_python(mark: Path, tmp_path: Path) -> None:
    """PyArrow loaded extension types out of pickles in the schema (CVE-2023-47248)."""
    import pyarrow
    from pyarrow import parquet

    save_task(toy_task(), tmp_path / "task")
    metadata = {"ARROW:extension:name": "arrow.py_extension_type", "ARROW:extension:metadata": pickle.dumps(Trap(mark))}
    for name in ("train", "validation", "test"):
        table = parquet.read_table(tmp_path / "task" / f"{name}.parquet")
        fields = [field.with_metadata(metadata) for field in table.schema]
        trapped = pyarrow.Table.from_arrays(table.columns, schema=pyarrow.schema(fields))
        parquet.write_table(trapped, tmp_path / "task" / f"{name}.parquet")
    load_saved(tmp_path / "task")
    read_rows(tmp_path / "task" / "train.parquet", "text", id="id", others=True)
