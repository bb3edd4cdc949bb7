import pytest

from hybridal.reports.number_formats import fixed
from hybridal.reports.report_table import MEAN, ONE, Column, Entry, Section, Table, mean_of, rate


def test_a_column_names_its_numbers() -> None:
    assert Column("IMDb", MEAN, group="F1").fields() == ["F1 IMDb mean", "F1 IMDb std", "F1 IMDb n"]
    assert [Column("t*", ONE).fields(), Column("Method").fields()] == [["t*"], ["Method"]]


def test_means_and_rates() -> None:
    assert mean_of([0.81, 0.83], fixed(3)).text == "0.820 ± 0.014"
    assert mean_of([0.81], fixed(3)).numbers == (0.81, None, 1)
    assert mean_of([], fixed(3)).text == "–"
    assert rate([1.0, 0.0, 1.0, 1.0]).text == "75%"


@pytest.mark.parametrize("row", [(Entry("Retrain"),), (Entry("Retrain"), Entry("0.67", (0.667, 0.1)))])
def test_a_row_must_fit_its_columns(row: tuple[Entry, ...]) -> None:
    columns = (Column("Method"), Column("Yahoo", ONE))
    with pytest.raises(ValueError, match="table f1: "):
        Table("f1", "Test F1.", columns, (Section((), (row,)),))
