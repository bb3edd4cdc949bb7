from __future__ import annotations

from hybridal.app.people.tokens import digest, draw


def test_no_two_secrets_and_no_two_digests_are_the_same() -> None:
    drawn = {draw() for _ in range(100)}
    assert len({digest(token) for token in drawn}) == 100
    assert min(map(len, drawn)) >= 43
    assert digest("\ud800") != digest("")  # whatever a visitor sends
