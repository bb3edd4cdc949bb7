from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from hybridal.backbones import hub_models
from hybridal.errors import UserError

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
    cached = snapshot(tmp_path / "cached", "config.json", "model.safetensors")
    calls, messages = serve(cached, OSError("no connection")), list[str]()
    assert hub_models.folder("org/name", None, messages.append) == cached
    assert [(call["id"], call["local_files_only"]) for call in calls] == [("org/name", True)]
    assert messages == []


@pytest.mark.parametrize("there", [(), ("config.json", "tokenizer.json"), ("model.safetensors",)])
def test_missing_or_partial_cache_is_downloaded(serve: Serve, tmp_path: Path, there: tuple[str, ...]) -> None:
    cached = snapshot(tmp_path / "cached", *there) if there else FileNotFoundError("not cached")
    remote = snapshot(tmp_path / "remote", "config.json", "model.safetensors")
    calls, messages = serve(cached, remote), list[str]()
    assert hub_models.folder("org/name", None, messages.append) == remote
    assert [call.get("local_files_only", False) for call in calls] == [True, False]
    assert messages == ["Downloading org/name from the hub"]


def test_only_needed_files_are_downloaded(serve: Serve, tmp_path: Path) -> None:
    calls = serve(FileNotFoundError(), tmp_path)
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
