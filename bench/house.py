"""Count what makes a package hard to enter, in any version of it.

    python -m bench.house src/hybridal
    python -m bench.house OLD/src/hybridal

The tests hold most of these at zero: `tests/test_file_names.py`, `tests/test_public_docstrings.py` and the contracts of
import-linter.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

# Words that hide who does what.
WORDS = ("said", "nobody", "somebody", "whoever", "beside", "so many")
# Assignments and registrations that change what a module does after it was built.
PATCH = re.compile(r"\.forward = |\.compute_\w+ = |\bsetattr\(|Interface\.register\(|\.data = ")
DOCUMENTED = re.compile(r"^\s*(Args|Attributes):$", re.MULTILINE)


def word_counts(package: Path) -> dict[str, int]:
    """How often each of the words occurs."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    return {word: len(re.findall(rf"\b{word}\b", source, re.IGNORECASE)) for word in WORDS}


def patches(package: Path) -> list[str]:
    """Functions of the room `models` that change a module after it was built."""
    found = []
    for path in sorted((package / "models").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        functions = _functions(ast.parse(source))
        patching = [one.name for one in functions if PATCH.search(ast.get_source_segment(source, one) or "")]
        found += [f"{path.relative_to(package)}: {name}" for name in patching]
    return found


def gpu_importers(package: Path) -> list[str]:
    """Modules outside the GPU room that import it at import time."""
    room = re.compile(r"^from hybridal\.models(\.(gpu|cuda)\b| import (gpu|cuda)\b)", re.MULTILINE)
    paths = [path for path in sorted(package.rglob("*.py")) if path.parent.name not in ("gpu", "cuda")]
    return [str(path.relative_to(package)) for path in paths if room.search(path.read_text(encoding="utf-8"))]


def repeated_names(package: Path) -> list[str]:
    """File names that occur more than once, apart from those that Python prescribes."""
    names = Counter(path.name for path in package.rglob("*.py") if not path.name.startswith("__"))
    return sorted(name for name, count in names.items() if count > 1)


def documented(package: Path) -> tuple[list[str], list[str]]:
    """Public names, and those of them that describe parameters or fields, or have a method that does."""
    [lazy] = [
        node
        for node in ast.parse((package / "__init__.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.If)
    ]
    public = {alias.name for imported in lazy.body if isinstance(imported, ast.ImportFrom) for alias in imported.names}
    defined: dict[str, bool] = {}
    for path in package.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in public:
                inside = [node, *(part for part in node.body if isinstance(part, ast.FunctionDef))]
                described = any(DOCUMENTED.search(ast.get_docstring(part) or "") for part in inside)
                defined[node.name] = defined.get(node.name, False) or described
    return sorted(defined), sorted(name for name, described in defined.items() if described)


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Functions and methods, without those that are defined inside others."""
    for node in tree.body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        yield from (part for part in inside if isinstance(part, ast.FunctionDef))


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.house", description=__doc__.partition("\n")[0])
    parser.add_argument("package", type=Path)
    package = parser.parse_args(words).package
    counts = word_counts(package)
    print(f"words: {sum(counts.values())} ({', '.join(f'{word} {count}' for word, count in counts.items())})")
    for title, found in (
        ("functions that patch modules", patches(package)),
        ("modules that import the GPU room", gpu_importers(package)),
        ("file names that occur more than once", repeated_names(package)),
    ):
        print(f"{title}: {len(found)}" + (f" ({', '.join(found)})" if found else ""))
    public, described = documented(package)
    without = ", ".join(sorted({*public} - {*described})) or "none"
    print(f"public names with described parameters: {len(described)} of {len(public)}, without: {without}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
