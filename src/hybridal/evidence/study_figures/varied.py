"""What does a study vary: its acquisition, one field of its protocol, or several?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hybridal.core.rules import protocol
from hybridal.evidence.results import variant_name
from hybridal.evidence.study_figures._names import plain
from hybridal.study.study import Study

_NAMES = {
    "candidates": "subset size N",
    "initial": "initial labels",
    "batch": "labels added a round",
    "validation_size": "validation texts",
    "acquisition": "acquisition",
    "dropout": "dropout",
    "calibrate": "calibrated acquisition",
}


@dataclass(frozen=True)
class Varied:
    """What a study varies: the column that tells settings apart, their names, and the usual one's place.

    Numbers are `ordered`, so that lines may lead from one to the next.
    """

    title: str
    column: str
    values: dict[str, str]
    usual: int | None
    ordered: bool


def what_varies(study: Study) -> Varied | None:
    """The one thing that a study varies; None where that is nothing, or acquisitions and protocols at once.

    >>> sizes = tuple({"candidates": n} for n in (None, 500, 1000))
    >>> what_varies(Study("n", ("imdb",), ("retrain",), vary=sizes))
    Varied(title='subset size N', column='variant', values={'candidates=500': '500', 'candidates=1000': '1000',
    'candidates=all': 'all'}, usual=1, ordered=True)
    """
    if len(study.vary) > 1 and len(study.acquisitions) > 1:
        return None
    if len(study.acquisitions) > 1:
        return Varied(
            _NAMES["acquisition"], "acquisition", {name: plain(name, 12) for name in study.acquisitions}, None, False
        )
    if len(study.vary) < 2:
        return None
    fields = {tuple(variant) for variant in study.vary}
    if len(fields) != 1 or len(field := next(iter(fields))) != 1:
        values = {variant_name(one): "\n".join(_line(*pair) for pair in one.items()) or "as is" for one in study.vary}
        return Varied("protocol", "variant", values, None, False)
    (name,) = field
    ordered = sorted(study.vary, key=lambda variant: _order(variant[name]))
    usual = getattr(protocol(study.protocol, study.overrides), name)
    places = [at for at, variant in enumerate(ordered) if variant[name] == usual]
    values = {variant_name(variant): _spelt(variant[name]) for variant in ordered}
    numeric = all(variant[name] is None or _is_number(variant[name]) for variant in ordered)
    return Varied(_NAMES.get(name, plain(name)), "variant", values, next(iter(places), None), numeric)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _line(name: str, value: Any) -> str:
    return plain(f"{name} {'none' if value is None else value}", 18)


def _order(value: Any) -> tuple[bool, float]:
    """Numbers by size and then `all`; other values as they come."""
    return value is None, float(value) if _is_number(value) else 0.0


def _spelt(value: Any) -> str:
    if value is None:
        return "all"
    if isinstance(value, bool):
        return "yes" if value else "no"
    thousands = isinstance(value, int) and value >= 10_000 and value % 1000 == 0
    return f"{value // 1000}k" if thousands else plain(str(value), 12)
