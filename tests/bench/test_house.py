from __future__ import annotations

from pathlib import Path

import pytest

import hybridal
from bench import house

FILES = {
    "__init__.py": "if TYPE_CHECKING:\n    from hybridal.one import told, silent\n",
    "one.py": 'def told(n):\n    """Said.\n\n    Args:\n        n: It.\n    """\n\n\ndef silent(): ...\n',
    "two/one.py": "# nobody said\n",
    "models/layers.py": "from hybridal.models.gpu import fast\n\n\ndef teach(module):\n    module.forward = fast\n",
    "models/gpu/fast.py": "from hybridal.models.gpu import other\n",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name, source in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    return tmp_path


def test_what_hides_the_way_is_counted(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert house.main([str(package)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "words: 3 (said 2, nobody 1, somebody 0, whoever 0, beside 0, so many 0)",
        "functions that patch modules: 1 (models/layers.py: teach)",
        "modules that import the GPU room: 1 (models/layers.py)",
        "file names that occur more than once: 1 (one.py)",
        "public names with described parameters: 1 of 2, without: silent",
    ]


def test_no_encoder_is_patched_after_it_was_built() -> None:
    assert house.patches(Path(hybridal.__file__).parent) == []
