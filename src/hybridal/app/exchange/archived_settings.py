"""The settings of an archived run, rebuilt from known fields, so that they name neither code nor files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hybridal.backbones import candidate_names
from hybridal.backbones.auto_candidates import is_auto
from hybridal.backbones.fingerprint import encoder_fingerprint
from hybridal.errors import UserError
from hybridal.runs.settings import Settings

_PLAIN_SPEC = re.compile(r"[a-z0-9_*+-]*(:([a-z0-9_*+-]*|-?[0-9.]+(e-?[0-9]+)?))*", re.IGNORECASE)
_FIELDS = {
    "task": str,
    "backbone": str,
    "schedule": str,
    "protocol": str,
    "acquisition": str,
    "seed": int,
    "overrides": dict,
}
_MAX_SHOWN = 200  # characters of a value that is only shown


def names_no_code(spec: Any) -> bool:
    """Whether the spec of a component names one of hybridal or of an installed package, and no file or module.

    >>> names_no_code("hybrid:alpha:0.02"), names_no_code("subprocess.Popen:true")
    (True, False)
    """
    return _PLAIN_SPEC.fullmatch(str(spec)) is not None


def is_offered(backbone: Any, encoders: Sequence[str]) -> bool:
    """Whether a server that offers these encoders loads all candidates of a setting.

    >>> is_offered("auto:minilm,tiny", ["auto", "tiny"]), is_offered("auto:/etc", ["auto", "tiny"])
    (True, False)
    """
    offered = {name for encoder in encoders for name in candidate_names(encoder)}
    return isinstance(backbone, str) and {*candidate_names(backbone)} <= offered


def offered_encoder(backbone: str, fingerprint: Any, encoders: Sequence[str]) -> str:
    """Return the name that an archived run's encoder has on this server, which may have it in another folder.

    Only encoders that this server offers are opened; what the archive says is only compared.

    Args:
        backbone: The archived setting.
        fingerprint: That of the encoder, from the archive; None if the name says which it is.
        encoders: Encoders that this server offers.

    Raises:
        UserError: This server does not offer it, or has another one in the folder of this name. One of several
            candidates must have the same name, which records have too.
    """
    if isinstance(fingerprint, str) and not is_auto(backbone):
        names = [name for encoder in encoders for name in candidate_names(encoder)]
        here = {name: encoder_fingerprint(name) for name in dict.fromkeys(names)}
        if found := [name for name, known in here.items() if known == fingerprint]:
            return backbone if backbone in found else found[0]
        if here.get(backbone) is not None:
            raise UserError(f"this server has another encoder in '{backbone:.80}'")
    if not is_offered(backbone, encoders):
        raise UserError(f"it needs the encoder '{backbone:.80}', which this server does not offer")
    return backbone


def settings_of(run: Any) -> Settings:
    """The settings in the `run.json` of a chapter, of the fields that a trainer sets.

    Raises:
        UserError: They are not valid, or name code; a `ValueError` or `KeyError` if one is missing or of a wrong type.
    """
    given = {name: run["settings"][name] for name in _FIELDS}
    for name, kind in _FIELDS.items():
        if type(given[name]) is not kind:
            raise ValueError(f"its setting '{name}' is wrong")
    settings = Settings(**given)
    _ = settings.rules  # raises if a field of the protocol is not valid
    if not names_no_code(settings.schedule) or not names_no_code(settings.acquisition):
        raise UserError("its settings name code")
    return settings


def shown_values(given: Any) -> dict[str, Any]:
    """A description that is only shown: short texts and numbers by name."""
    for name, value in given.items():
        if type(value) not in (str, int) or len(f"{name}{value}") > _MAX_SHOWN:
            raise ValueError("its description is too long")
    return dict(given)
