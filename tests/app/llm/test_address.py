import pytest

from hybridal.app.llm.address import check_address
from hybridal.errors import UserError


@pytest.mark.parametrize(
    "address", ["", "localhost:8000", "ftp://host/v1", "http://", "https://me:pw@host/v1", "http://[x"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UserError, match="not a server's address"):
        check_address(address, False)


def test_a_key_goes_nowhere_in_the_clear() -> None:
    with pytest.raises(UserError, match="use https"):
        check_address("http://llm.example.org/v1", True)
    assert check_address("http://llm.example.org/v1", False)
    assert check_address("https://llm.example.org/v1/", True) == "https://llm.example.org/v1"
