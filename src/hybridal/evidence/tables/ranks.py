"""Do methods differ from Retrain and FineTune, asked by ranks, and by how much without a unit?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hybridal.evidence.looks import distinct_names
from hybridal.evidence.results import Results
from hybridal.evidence.statistics.effect import effect
from hybridal.evidence.statistics.paired import paired_test
from hybridal.evidence.statistics.wilcoxon import SignedRank, signed_rank_family
from hybridal.evidence.tables._entries import Shown, fixed, one, p_value
from hybridal.evidence.tables._grid import ALPHA, setting_keys, settings
from hybridal.evidence.tables._runs import FINETUNE, RETRAIN, Run, distinct, paired, runs_of, split_of, those
from hybridal.evidence.tables.measures import COST, F1, NLL, SECONDS_NOTE, Measure
from hybridal.evidence.tables.table import Column, Entry, Row, Section, Table
from hybridal.study.folder import StudyFolder

_NUMBERS = ("Difference", "p (ranks)", "p (Holm)", "p (t)", "d_z", "g_z", "Cliff's δ", "Rank-biserial")
Pair = tuple[list[float], list[float]]


def rank_tests(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """Wilcoxon's signed-rank tests with Holm's correction, and effect sizes, for each measure.

    >>> from hybridal.evidence.tables._example import example
    >>> table = rank_tests(*example())
    >>> [entry.text for entry in table.sections[1].rows[0]]
    ['FineTune', 'Retrain', '6', '+0.404', '0.031', '0.219', '< 0.001', '40.59', '34.12', '1.00', '1.00']
    """
    rows = runs_of(results)
    sections = []
    for keys, members in settings(rows, ("backbone",)):
        for measure in (F1.on(split_of(rows)), NLL.on(split_of(rows)), *COST):
            lines = _rows(members, measure)
            if lines:
                sections.append(Section((*keys, measure.title), tuple(lines)))
    if not sections:
        return None
    columns = [Column("Method"), Column("Against"), Column("Pairs", ("n",))]
    columns += [Column(title, ("value",)) for title in _NUMBERS]
    caption = (
        "Methods against Retrain and FineTune over all (backbone, task, seed) pairs: mean difference; Wilcoxon's "
        "signed-rank test, exact and two-sided, with Holm's correction over the comparisons of a measure (* below "
        f"{ALPHA:g}); the paired t-test; and effect sizes: d_z, the same without small-sample bias (g_z), Cliff's δ "
        f"and the rank-biserial correlation. {SECONDS_NOTE}"
    )
    return Table(
        "rank-tests", caption, tuple(columns), tuple(sections), (*setting_keys(rows, ("backbone",)), "Measure")
    )


def _rows(rows: Sequence[Run], measure: Measure) -> list[Row]:
    names = distinct_names(distinct(rows, "schedule"))
    pairs: dict[str, tuple[str, str, Pair]] = {}
    for reference in (RETRAIN, FINETUNE):
        for spec in names:
            if spec in (reference, RETRAIN):
                continue
            pair = paired(those(rows, schedule=spec), those(rows, schedule=reference), measure.column)
            if pair[0]:
                pairs[f"{spec} {reference}"] = (spec, reference, pair)
    tests = signed_rank_family({key: pair for key, (_, _, pair) in pairs.items()})
    return [
        _row(names[spec], names[reference], pair, tests[key], measure.shown)
        for key, (spec, reference, pair) in pairs.items()
    ]


def _row(name: str, reference: str, pair: Pair, test: SignedRank, shown: Shown) -> Row:
    size, t_test = effect(*pair), paired_test(*pair)
    holm = one(test.p_holm, p_value)
    if test.p_holm is not None and test.p_holm < ALPHA:
        holm = replace(holm, marks="*")
    sizes = [one(value, fixed(2)) for value in (size.d_z, size.g_z, size.cliffs_delta, size.rank_biserial)]
    return (
        Entry(name),
        Entry(reference),
        one(test.n, fixed(0)),
        one(t_test.mean, lambda value: f"{'+' if value > 0 else ''}{shown(value)}"),
        one(test.p, p_value),
        holm,
        one(t_test.p, p_value),
        *sizes,
    )
