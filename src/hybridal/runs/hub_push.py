"""Upload models and label sets to the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from hybridal.core.pool import Pool
from hybridal.core.rounds import Round
from hybridal.errors import UserError, reason
from hybridal.runs.cards import HERE, label_card
from hybridal.runs.export import labelled
from hybridal.runs.settings import Settings
from hybridal.system.scratch import scratch
from hybridal.tasks.task import Task


def push_model(write: Callable[[Path], object], repo: str, private: bool, token: str | None) -> str:
    """Upload the folder that `write` writes, with its card, and return the address."""
    return _push(write, repo, "model", private, token)


def push_labels(
    task: Task, pool: Pool, settings: Settings, history: Sequence[Round], repo: str, private: bool, token: str | None
) -> str:
    """Upload the labelled texts as a dataset, one Parquet file per split, and return the address."""
    splits = {name: split for name, split in labelled(task, pool).items() if len(split)}
    if not splits:
        raise UserError("There are no labels to push yet; teach some first.")

    def write(folder: Path) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        folder.mkdir()
        for name, split in splits.items():
            ids, labels = [task.id(id) for id in split.ids], [task.label(number) for number in split.labels]
            if task.multi_label:
                kind = pa.list_(pa.array(task.class_labels).type)
                labels = pa.array([sorted(several, key=str) for several in labels], kind)
            table = pa.table({"id": ids, "text": list(split.texts), "label": labels})
            parquet.write_table(table, folder / f"{name}.parquet")
        card = label_card(task, settings, splits, history[-1] if history else None)
        (folder / "README.md").write_text(card, encoding="utf-8")

    return _push(write, repo, "dataset", private, token)


def _push(write: Callable[[Path], object], repo: str, kind: str, private: bool, token: str | None) -> str:
    from huggingface_hub import HfApi, get_token

    if not (token or get_token()):
        raise UserError(
            "There is no access token for the hub; create one with write permission at "
            "https://huggingface.co/settings/tokens, then set HF_TOKEN or run `hf auth login`."
        )
    api = HfApi(token=token)
    with scratch() as home:
        folder = home / kind
        write(folder)
        # The client raises errors of many packages; the advice is the same for all.
        try:
            made = api.create_repo(repo, repo_type=kind, private=private, exist_ok=True)
            card = (folder / "README.md").read_text(encoding="utf-8").replace(f'"{HERE}"', f'"{made.repo_id}"')
            (folder / "README.md").write_text(card, encoding="utf-8")
            message = f"Upload {kind} with hybridal"
            api.upload_folder(repo_id=made.repo_id, folder_path=folder, repo_type=kind, commit_message=message)
        except Exception as error:
            raise UserError(
                f"'{repo}' could not be pushed to the hub ({reason(error)}); check the name, the connection, and that "
                "your token may write there."
            ) from error
    return str(made)
