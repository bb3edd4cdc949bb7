from __future__ import annotations

import pandas as pd
import pytest

from hybridal.lab.study.study_results import Results
from hybridal.reports.report_table import Table

from ..reports.example import example
from .by_hand import by_hand
from .catalogue import all_tables


@pytest.fixture(scope="session")
def study() -> Results:
    return example()


@pytest.fixture(scope="session")
def tables(study: Results) -> dict[str, Table]:
    return all_tables(study.folder)


@pytest.fixture(scope="session")
def runs(study: Results) -> pd.DataFrame:
    return by_hand(study.folder.path)
