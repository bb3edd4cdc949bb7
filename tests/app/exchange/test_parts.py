import io

from hybridal.app.exchange.parts import PART, parts


def test_a_large_file_comes_in_parts_and_is_closed() -> None:
    file = io.BytesIO(b"x" * (2 * PART + 1))
    assert [len(part) for part in parts(file)] == [PART, PART, 1]
    assert file.closed
