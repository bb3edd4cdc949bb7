"""Require weights in safetensors: the older `*.bin` files are pickles, which run code when they are loaded."""

from __future__ import annotations

from pathlib import Path

from hybridal.errors import UserError, reason

SAFE = "*.safetensors"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


def check_weights(folder: Path) -> None:
    """Refuse a model or adapter that is a pickle or damaged; only headers are read.

    Args:
        folder: An encoder or classifier as transformers saves it.

    Raises:
        UserError: There is no safetensors file, and the sentence says how to convert the weights; or one was cut off.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> (folder / "pytorch_model.bin").touch()
        >>> check_weights(folder)
        Traceback (most recent call last):
        hybridal.errors.UserError: ... has its weights in pytorch_model.bin only, a pickle, ...
    """
    adapter = "adapter_model" if (folder / "adapter_config.json").is_file() else ""
    if safe := sorted(folder.glob(adapter + SAFE)):
        for file in safe:
            _check_header(file)
        return
    pickled = sorted(path.name for pattern in PICKLES for path in folder.glob(adapter + pattern))
    if pickled:
        raise UserError(
            f"{folder} has its weights in {pickled[0]} only, a pickle, which runs code when it is read; if you trust "
            'it, convert it once: `python -c "from transformers import AutoModel as M; '
            f"M.from_pretrained('{folder}').save_pretrained('{folder}')\"`.",
            field="backbone",
        )


def _check_header(file: Path) -> None:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, "numpy"):
            pass
    except (SafetensorError, OSError) as error:
        raise UserError(f"{file} is damaged ({reason(error)}); copy or download it again.") from error
