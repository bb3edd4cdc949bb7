"""All tables of a study as files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hybridal.evidence.tables.as_csv import to_csv
from hybridal.evidence.tables.as_latex import to_document, to_latex
from hybridal.evidence.tables.as_markdown import to_markdown
from hybridal.evidence.tables.table import Table
from hybridal.system.files import write_whole


def write_tables(tables: Mapping[str, Table], out: Path) -> list[Path]:
    """Each table as NAME.md, NAME.csv and NAME.tex, and all of them as the document `tables.tex`.

    >>> import tempfile
    >>> from hybridal.evidence.tables.table import Column, Entry, Section
    >>> table = Table("f1", "F1.", (Column("Method"),), (Section((), ((Entry("Retrain"),),)),))
    >>> [path.name for path in write_tables({"f1": table}, Path(tempfile.mkdtemp()))]
    ['f1.md', 'f1.csv', 'f1.tex', 'tables.tex']
    """
    out.mkdir(parents=True, exist_ok=True)
    written = {}
    for name, table in tables.items():
        written[out / f"{name}.md"] = to_markdown(table)
        written[out / f"{name}.csv"] = to_csv(table)
        written[out / f"{name}.tex"] = to_latex(table)
    written[out / "tables.tex"] = to_document(list(tables.values()))
    for path, text in written.items():
        write_whole(path, text)
    return list(written)
