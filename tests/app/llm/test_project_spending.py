"""What more labels cost and bring, in sentences for owners."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError
from sqlalchemy import update

from hybridal.annotators.llm.prompt import LlmLabel
from hybridal.app.db.schema import Annotation, now
from hybridal.app.labelling.annotations import annotate
from hybridal.app.llm.annotator import LlmSettings, save_settings
from hybridal.app.llm.project_spending import spending_sentences
from hybridal.app.prices import PricePlan, load_prices, save_prices
from hybridal.app.project import Project
from hybridal.app.web.translations import translation
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.testing.small import toy_task

from ..insight.rounds import round_of
from ..made_up import make
from .projects import llm_of, made, person, recorded, says


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """Two rounds, and the same twenty texts labelled by Ann and by a language model that says bug too often."""
    project = made(tmp_path, 60, routing={"overlap": 1.0})
    two_rounds(project)
    with project.sessions.begin() as session:
        llm = llm_of(session, routing={"overlap": 1.0})
        for at in range(20):
            says(session, "Ann", f"t{at}", "bug" if at < 8 else "idea")
            session.execute(update(Annotation).where(Annotation.person_number > 1).values(drawn="queue"))
            recorded(session, llm, f"t{at}", LlmLabel("bug" if at < 18 else "idea", 0.9), tokens=500)
    yield project
    project.close()


def two_rounds(project: Project) -> None:
    folder = RunFolder.create(project.runs / "001", Settings("toys"), toy_task(train=40, validation=2), {})
    folder.append(round_of(1))
    folder.append(round_of(2, right=17, changes={"agreement": 0.1}))


def ask(project: Project, **prices: object) -> list[str]:
    with project.sessions.begin() as session:
        save_prices(session, PricePlan.model_validate(prices))
    return [*spending_sentences(project)]


def test_people_the_model_and_stopping_are_compared(project: Project) -> None:
    people, model, agreement, bug, idea, stopping = ask(
        project, people=0.5, people_per="label", model=20, model_per="million tokens"
    )
    assert people.startswith("40 more labels by people cost 20.00. They may change the score by ")
    assert model.startswith("40 labels by the model cost 0.40. They should bring about ")
    assert agreement == "small agrees with people on 50% (95% interval 30% to 70%) of 20 texts that both labelled."
    assert bug.startswith("It gives 'bug' too often: right in ")
    assert idea.startswith("It gives 'idea' too rarely: it finds ")
    assert stopping.startswith("Stopping costs nothing: ")


def test_the_errors_are_those_by_which_labels_are_weighted(project: Project) -> None:
    """Of all answers in the pool that are confident enough to be labels, also of those under earlier instructions."""
    with project.sessions.begin() as session:
        older = llm_of(session, model="older", routing={"overlap": 1.0})
        for at in range(20, 32):
            says(session, "Ann", f"t{at}", "bug")
            recorded(session, older, f"t{at}", LlmLabel("idea", 0.95 if at < 30 else 0.5))
    found = ask(project, people=0.5, people_per="label", model=0.1, model_per="label")
    assert found[2] == "small agrees with people on 33% (95% interval 19% to 51%) of 30 texts that both labelled."
    assert found[-2].startswith("This counts all answers so far, also those of earlier models and instructions: ")
    assert found[-1].startswith("Stopping costs nothing: ")


def test_without_a_price_of_the_model_it_is_left_out(project: Project) -> None:
    assert [one.split()[0] for one in ask(project, people=0.5, people_per="label")] == ["40", "Stopping"]


def test_a_model_without_answers_has_a_price_per_label_only(tmp_path: Path) -> None:
    project = made(tmp_path, 30)
    two_rounds(project)
    assert len(ask(project, people=1, people_per="label", model=20, model_per="million tokens")) == 2
    assert ask(project, people=1, people_per="label", model=0.1, model_per="label")[1].startswith("30 labels by the")


def test_work_per_hour_is_priced_by_the_time_of_a_label(project: Project) -> None:
    assert ask(project, people=30, people_per="hour")[0].startswith("How long people take for a label is not known")
    with project.sessions.begin() as session:
        for at in range(20):
            of = Annotation.key.startswith(f"Ann|t{at}|")
            session.execute(update(Annotation).where(of).values(at=now() - 1000 + 36 * at))
    found = ask(project, people=30, people_per="hour")
    assert found[0].startswith("40 more labels by people take about 24 min and cost 12.00. ")
    assert found[1].startswith("So far a label took 36.0 s on average and 36.0 s in the median")


def test_the_average_time_of_a_label_is_told_next_to_the_median(project: Project) -> None:
    """The page shows medians as "Time per label", and a few long readings make the total time larger."""
    with project.sessions.begin() as session:
        for at in range(20):
            of = Annotation.key.startswith(f"Ann|t{at}|")
            session.execute(update(Annotation).where(of).values(at=now() - 1000 + at + (200 if at > 18 else 0)))
    found = ask(project, people=30, people_per="hour")
    assert found[1] == (
        "So far a label took 11.5 s on average and 1.0 s in the median, without pauses of more than five minutes. "
        "The total time follows from the average."
    )
    assert "So far" not in " ".join(ask(project, people=1, people_per="label")[2:])


def test_without_the_price_of_work_nothing_is_said(project: Project) -> None:
    assert ask(project, model=3) == []


def test_without_rounds_there_is_no_forecast(tmp_path: Path) -> None:
    assert ask(made(tmp_path, 5), people=1, people_per="label") == ["There is no model yet."]


def test_sets_of_classes_are_compared_class_by_class(tmp_path: Path) -> None:
    project = make(tmp_path / "p", 30, ("bug", "idea"), multi_label=True, validation_first=0, validation_share=0.0)
    two_rounds(project)
    with project.sessions.begin() as session:
        save_settings(session, LlmSettings.model_validate({"model": "small", "routing": {"overlap": 1.0}}))
        llm = llm_of(session, routing={"overlap": 1.0})
        for at in range(12):
            names = ["bug", "idea"] if at < 2 else []
            annotate(session, person(session, "Ann"), f"t{at}", "label", class_names=names, key=f"k{at}")
            recorded(session, llm, f"t{at}", LlmLabel(frozenset(["bug"]), 0.9))
    found = ask(project, people=1, people_per="label", model=0.1, model_per="label")
    assert "It gives 'bug' too often: right in 5% to 45% (95% interval)." in found
    assert not any("'idea'" in one for one in found)


def test_prices_are_checked_and_kept(project: Project) -> None:
    with pytest.raises(ValidationError):
        PricePlan(people=-1)
    ask(project, people=30)
    with project.reads() as session:
        assert load_prices(session) == PricePlan(people=30, people_per="hour")


def test_the_sentences_are_translated(project: Project) -> None:
    with project.sessions.begin() as session:
        save_prices(session, PricePlan(people=0.5, people_per="label", model=20))
    for one in spending_sentences(project):
        assert translation("ar").sentence(one) != one
