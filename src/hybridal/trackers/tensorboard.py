"""Log runs to TensorBoard, one folder per run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from hybridal.core.rounds import Round
from hybridal.errors import UserError
from hybridal.trackers import figures, parameters


class TensorBoard:
    """Writes files for `tensorboard --logdir FOLDER`."""

    name: ClassVar[str] = "tensorboard"

    def __init__(self, folder: str | Path = "tensorboard") -> None:
        if find_spec("tensorboard") is None:
            raise UserError(
                "The tracker 'tensorboard' needs tensorboard; run `pip install 'hybridal[tensorboard]'`.",
                field="tracker",
            )
        self.folder = Path(folder)

    def begin(self, id: str, name: str, about: Mapping[str, Any]) -> None:
        from torch.utils.tensorboard import SummaryWriter

        # Hide what an interrupted process wrote: all rounds are sent again.
        plain = re.sub(r"[^\w.-]+", "-", name)
        self._writer: Any = SummaryWriter(str(self.folder / f"{plain}-{id[:8]}"), purge_step=1)
        rows = "".join(f"| {key} | {value} |\n" for key, value in parameters(about).items())
        self._writer.add_text("settings", f"| setting | value |\n|---|---|\n{rows}", 0)

    def record(self, record: Round) -> None:
        for name, number in figures(record).items():
            self._writer.add_scalar(name, number, record.round)
        self._writer.add_text("update", f"{record.update} {record.reason}".strip(), record.round)
        self._writer.flush()
