from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from hybridal.backbones import hub_models
from hybridal.backbones.auto_candidates import with_candidates
from hybridal.backbones.load import load_backbone
from hybridal.backbones.tiny import folder as tiny_folder
from hybridal.errors import UserError
from hybridal.testing.small import toy_task

from ..helpers.stand_in_hub import COMMIT, StandInHub, stand_in_hub

Serve = Callable[[Path | Exception, Path | Exception], list[dict[str, Any]]]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Puts a local cache and a hub in place, and gives the list of calls that they get."""

    def serve(cached: Path | Exception, remote: Path | Exception) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []

        def snapshot_download(hub_id: str, **options: Any) -> str:
            calls.append({"id": hub_id, **options})
            found = cached if options.get("local_files_only") else remote
            if isinstance(found, Exception):
                raise found
            return str(found)

        monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
        return calls

    return serve


def snapshot(folder: Path, *names: str) -> Path:
    folder.mkdir()
    for name in names:
        (folder / name).touch()
    return folder


def test_cached_model_makes_no_hub_request(serve: Serve, tmp_path: Path) -> None:
    cached = snapshot(tmp_path / "cached", "config.json", "model.safetensors", "vocab.txt")
    calls, messages = serve(cached, OSError("no connection")), list[str]()
    assert hub_models.folder("org/name", None, messages.append) == cached
    assert [(call["id"], call["local_files_only"]) for call in calls] == [("org/name", True)]
    assert messages == []


@pytest.mark.parametrize(
    "there",
    [(), ("config.json", "tokenizer.json"), ("model.safetensors", "vocab.txt"), ("config.json", "model.safetensors")],
)
def test_missing_or_partial_cache_is_downloaded(serve: Serve, tmp_path: Path, there: tuple[str, ...]) -> None:
    cached = snapshot(tmp_path / "cached", *there) if there else FileNotFoundError("not cached")
    remote = snapshot(tmp_path / "remote", "config.json", "model.safetensors", "spiece.model")
    calls, messages = serve(cached, remote), list[str]()
    assert hub_models.folder("org/name", None, messages.append) == remote
    assert [call.get("local_files_only", False) for call in calls] == [True, False]
    assert messages == ["Downloading org/name from the hub"]


def test_only_needed_files_are_downloaded(serve: Serve, tmp_path: Path) -> None:
    remote = snapshot(tmp_path / "remote", "config.json", "model.safetensors", "vocab.txt")
    calls = serve(FileNotFoundError(), remote)
    hub_models.folder("org/name", None, lambda _: None)
    wanted = calls[0]["allow_patterns"]
    assert calls[1]["allow_patterns"] == wanted
    repository = ["config.json", "model.safetensors", "tokenizer.json", "vocab.txt", "merges.txt"]
    repository += ["sentencepiece.bpe.model", "tokenizer.model", "spm.model", "added_tokens.json", "pytorch_model.bin"]
    fetched = huggingface_hub.utils.filter_repo_objects(repository, allow_patterns=wanted)
    assert list(fetched) == repository[:-1]


@pytest.mark.parametrize(
    ("error", "reason"), [(OSError("no connection\nand much more"), "no connection"), (KeyError(), "KeyError")]
)
def test_failed_download_gives_one_sentence(serve: Serve, error: Exception, reason: str) -> None:
    serve(error, error)
    with pytest.raises(UserError) as caught:
        hub_models.folder("org/name", None, lambda _: None)
    assert str(caught.value) == (
        f"Backbone 'org/name' is neither a folder here nor available from the hub ({reason}); "
        "check the name and the connection, or use `backbone=minilm`."
    )


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInHub]:
    """The hub's client downloads from a server on this machine, without a token, in chunks of 64 bytes."""
    with stand_in_hub(tmp_path / "hub", monkeypatch) as served:
        monkeypatch.delenv("HF_TOKEN")
        monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")
        monkeypatch.setattr(huggingface_hub.constants, "DOWNLOAD_CHUNK_SIZE", 64)
        huggingface_hub.utils.disable_progress_bars()
        yield served
        huggingface_hub.utils.enable_progress_bars()


def publish(hub: StandInHub, repo: str) -> Path:
    """An encoder with its tokenizer, a readme, and weights in a format that is not downloaded."""
    folder = shutil.copytree(tiny_folder(toy_task()), hub.files(repo))
    (folder / "README.md").write_text("read me")
    (folder / "pytorch_model.bin").write_bytes(bytes(100))
    return folder


def files_of(hub: StandInHub) -> list[str]:
    return sorted(line.split()[1].rsplit("/", 1)[1] for line in hub.requests if line.startswith("GET /org/"))


def test_a_download_has_all_files_that_an_encoder_needs_and_is_cached(
    hub: StandInHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    published, messages = publish(hub, "org/encoder"), list[str]()
    loaded = load_backbone("org/encoder", toy_task(), messages.append)
    wanted = {path.name: path.read_bytes() for path in published.iterdir()}
    del wanted["README.md"], wanted["pytorch_model.bin"]
    assert {path.name: path.read_bytes() for path in loaded.folder.iterdir()} == wanted
    assert files_of(hub) == sorted(wanted)
    assert messages == ["Downloading org/encoder from the hub"]
    hub.requests.clear()
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert load_backbone("org/encoder", toy_task()).folder == loaded.folder
    assert len(loaded.encoder(16).encode(["apple"])) == 1
    assert hub.requests == []


def test_a_download_that_breaks_off_goes_on_where_it_broke(hub: StandInHub) -> None:
    weights = publish(hub, "org/encoder") / "model.safetensors"
    hub.breaks[weights.name] = [640]
    here = hub_models.folder("org/encoder", None, lambda _: None)
    assert (here / weights.name).read_bytes() == weights.read_bytes()
    assert [line.split(maxsplit=2)[2:] for line in hub.requests if line.startswith("GET") and weights.name in line] == [
        [],
        ["bytes=640-"],
    ]


@pytest.mark.parametrize("lost", ["model.safetensors", "tokenizer.json", "config.json"])
def test_only_missing_files_are_downloaded_again(hub: StandInHub, lost: str) -> None:
    """As after a process that was killed."""
    publish(hub, "org/encoder")
    here = hub_models.folder("org/encoder", None, lambda _: None)
    lose(here / lost)
    hub.requests.clear()
    assert hub_models.cached("org/encoder", None) is None
    assert (hub_models.folder("org/encoder", None, lambda _: None) / lost).is_file()
    assert files_of(hub) == [lost]


def test_a_cache_without_a_list_of_files_lacks_its_tokenizer(hub: StandInHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Older clients kept none, and other tools download the files of a model alone."""
    published = publish(hub, "org/encoder")
    here, names = hub_models.folder("org/encoder", None, lambda _: None), ["tokenizer.json", "tokenizer_config.json"]
    assert sorted(path.name for path in published.glob("tokenizer*")) == names
    for name in names:
        lose(here / name)
    shutil.rmtree(here.parent.parent / "trees")
    cache = hub.folder.with_name("older-cache")  # the client remembers the lists of the other
    shutil.move(huggingface_hub.constants.HF_HUB_CACHE, cache)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(cache))
    hub.requests.clear()
    assert hub_models.cached("org/encoder", None) is None
    hub_models.folder("org/encoder", None, lambda _: None)
    assert files_of(hub) == names


def lose(file: Path) -> None:
    """Remove a file from the cache."""
    file.resolve().unlink()
    file.unlink()


def test_a_pinned_revision_is_the_one_that_is_downloaded(hub: StandInHub) -> None:
    publish(hub, "org/encoder")
    assert hub_models.folder("org/encoder", "1" * 40, lambda _: None).name == "1" * 40
    assert hub_models.cached("org/encoder", None) is None
    assert hub_models.folder("org/encoder", "main", lambda _: None).name == COMMIT


def test_errors_of_the_hub_say_what_to_do(hub: StandInHub, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("encoder", "gated", "weightless", "old", "untokenized"):
        publish(hub, f"org/{name}")
    hub.gated.add("org/gated")
    (hub.files("org/weightless") / "model.safetensors").unlink()
    (hub.files("org/weightless") / "pytorch_model.bin").unlink()
    (hub.files("org/old") / "model.safetensors").unlink()
    for file in hub.files("org/untokenized").glob("tokenizer*"):
        file.unlink()
    for name, revision, error in (
        ("org/nowhere", None, "There is no model 'org/nowhere' on the hub, or it is private; check the name, or "),
        ("org/encoder", "v9", "Model 'org/encoder' has no revision 'v9' on the hub; name another one, or none"),
        (
            "org/gated",
            None,
            f"Model 'org/gated' is gated: accept its conditions at {hub.address}/org/gated, then log in with "
            "`hf auth login` or set HF_TOKEN.",
        ),
        ("org/weightless", None, "Model 'org/weightless' has no weights in the format safetensors on the hub; "),
        ("org/old", None, "Model 'org/old' has no weights in the format safetensors on the hub; "),
        ("org/untokenized", None, "Model 'org/untokenized' has no files of a tokenizer on the hub; "),
    ):
        with pytest.raises(UserError, match=f"^{re.escape(error)}") as caught:
            hub_models.folder(name, revision, lambda _: None)
        assert caught.value.field == "backbone"
    monkeypatch.setenv("HF_TOKEN", "hf_made_up")
    monkeypatch.delenv("HF_HUB_DISABLE_IMPLICIT_TOKEN")
    assert hub_models.folder("org/gated", None, lambda _: None).is_dir()


def test_an_offline_client_asks_nobody(hub: StandInHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match=r"not on this machine, and HF_HUB_OFFLINE forbids to ask the hub; unset it"):
        hub_models.folder("org/encoder", None, lambda _: None)
    assert hub.requests == []


def test_auto_downloads_its_candidates_if_the_hub_answers(hub: StandInHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the hub `auto` takes those that are on this machine."""
    monkeypatch.setenv("HYBRIDAL_MODELS", str(hub.folder))
    publish(hub, "minilm")
    assert with_candidates("auto", toy_task()) == "minilm"
    publish(hub, "thenlper/gte-small")
    assert with_candidates("auto", toy_task()) == "auto:gte-small,minilm"
    assert "HEAD /" in hub.requests
    hub.requests.clear()
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert with_candidates("auto", toy_task()) == "auto:gte-small,minilm"
    assert hub.requests == []
