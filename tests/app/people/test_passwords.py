from __future__ import annotations

import pytest

from hybridal.app.people.passwords import fits, hashed
from hybridal.errors import UserError


def test_only_the_password_fits_and_it_is_not_kept() -> None:
    kept = hashed("correct horse")
    assert kept.startswith("$argon2id$")
    assert "correct" not in kept
    assert kept != hashed("correct horse")
    assert fits("correct horse", kept)
    assert not fits("correct horsf", kept)


def test_who_has_no_password_cannot_come_in_with_any() -> None:
    for guess in ("", "nobody's password", "None"):
        assert not fits(guess, None)


@pytest.mark.parametrize("password", ["", "short", "x" * 201])
def test_a_password_has_a_sensible_length(password: str) -> None:
    with pytest.raises(UserError, match="8 to 200"):
        hashed(password)
