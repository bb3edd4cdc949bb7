from __future__ import annotations

from hybridal.app.labelling.tally import share_of
from hybridal.app.labelling.verdict import Said


def test_a_text_counts_where_it_belongs() -> None:
    counted = {
        "nothing said": (share_of("pool", []), {"texts"}),
        "validation": (share_of("validation", [Said("person", 1)]), {"texts", "labelled", "validation"}),
        "the file": (share_of("pool", [Said("file", 1)]), {"texts", "labelled", "pool"}),
        "skipped": (share_of("pool", [Said("person", None)]), {"texts", "skipped"}),
        "skipped, then labelled": (
            share_of("pool", [Said("person", None), Said("person", 1)]),
            {"texts", "labelled", "pool"},
        ),
        "disagreed": (share_of("pool", [Said("person", 1), Said("person", 2)]), {"texts", "disagreements"}),
    }
    for what, (found, expected) in counted.items():
        assert set(found) == expected, what
        assert set(found.values()) == {1}
