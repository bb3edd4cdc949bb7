import pytest

from hybridal.app.llm.address import check_address
from hybridal.errors import UserError


@pytest.mark.parametrize(
    "address",
    [
        *("", "localhost:8000", "ftp://host/v1", "http://", "http://[x", "http://host:99999/v1", "http://host:x/v1"),
        *(
            "https://me:pw@host/v1",
            "https://:pw@host/v1",
            "http://my host/v1",
            "http://host/v1\r\nX: y",
            "http://host/\0",
        ),
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UserError, match="not a server's address"):
        check_address(address, False)


def test_who_starts_the_app_can_allow_one_address_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYBRIDAL_LLM_URL", "https://llm.example.org/v1/ ")
    assert check_address("https://llm.example.org/v1", True) == "https://llm.example.org/v1"
    with pytest.raises(UserError, match="one LLM server alone: https://llm"):
        check_address("https://other.example.org/v1", False)


def test_a_key_goes_nowhere_in_the_clear() -> None:
    with pytest.raises(UserError, match="use https"):
        check_address("http://llm.example.org/v1", True)
    assert check_address("http://llm.example.org/v1", False)
    assert check_address("https://llm.example.org/v1/", True) == "https://llm.example.org/v1"
