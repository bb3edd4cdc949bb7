from __future__ import annotations

import pandas as pd
import pytest

from hybridal.evidence.results import Results
from hybridal.evidence.tables import all_tables
from hybridal.evidence.tables._example import example
from hybridal.evidence.tables.table import Table
from hybridal.study.folder import StudyFolder

from .by_hand import by_hand


@pytest.fixture(scope="session")
def study() -> tuple[Results, StudyFolder]:
    return example()


@pytest.fixture(scope="session")
def tables(study: tuple[Results, StudyFolder]) -> dict[str, Table]:
    return all_tables(study[1])


@pytest.fixture(scope="session")
def runs(study: tuple[Results, StudyFolder]) -> pd.DataFrame:
    return by_hand(study[1].path)
