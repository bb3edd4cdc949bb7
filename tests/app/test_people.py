from __future__ import annotations

import pytest

from hybridal.app.people import draw_token, hash_password, token_digest, verify_password
from hybridal.errors import UserError


def test_no_two_secrets_and_no_two_digests_are_the_same() -> None:
    drawn = {draw_token() for _ in range(100)}
    assert len({token_digest(token) for token in drawn}) == 100
    assert min(map(len, drawn)) >= 43
    assert token_digest("\ud800") != token_digest("")  # whatever a visitor sends


def test_only_the_password_fits_and_it_is_not_kept() -> None:
    kept = hash_password("correct horse")
    assert kept.startswith("$argon2id$")
    assert "correct" not in kept
    assert kept != hash_password("correct horse")
    assert verify_password("correct horse", kept)
    assert not verify_password("correct horsf", kept)


def test_person_without_password_cannot_sign_in() -> None:
    for prediction in ("", "not a password", "None"):
        assert not verify_password(prediction, None)


@pytest.mark.parametrize("password", ["", "short", "x" * 201])
def test_a_password_has_a_sensible_length(password: str) -> None:
    with pytest.raises(UserError, match="8 to 200"):
        hash_password(password)
