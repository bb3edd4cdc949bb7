import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hybridal.app.llm.annotator import LlmSettings, load_settings, save_settings
from hybridal.app.llm.job import LlmWorker
from hybridal.app.project import Project
from hybridal.errors import UserError

from ...helpers.chat_server import Json, Sends, chat_server, in_turn, labels
from .projects import consensus, made, says


@pytest.fixture
def workers() -> Iterator[list[LlmWorker]]:
    made_here: list[LlmWorker] = []
    yield made_here
    for worker in made_here:
        worker.close()


def plan(project: Project, **changes: object) -> None:
    with project.sessions.begin() as session:
        save_settings(
            session,
            LlmSettings.model_validate({**load_settings(session).model_dump(), "per_minute": 100_000, **changes}),
        )


def until(true: Callable[[], bool]) -> None:
    for _ in range(2000):
        if true():
            return
        time.sleep(0.005)
    raise AssertionError("It did not happen within ten seconds.")


def labelled(project: Project) -> int:
    with project.reads() as session:
        return len(consensus(session))


def test_worker_runs_in_the_background_and_resumes_in_another_process(tmp_path: Path, workers: list[LlmWorker]) -> None:
    project = made(tmp_path, 8)
    with chat_server(in_turn(labels("bug"))) as server:
        plan(project, base_url=server.url)
        workers.append(LlmWorker(project))
        assert workers[0].state == {"phase": "stopped", "error": ""}
        workers[0].resume()
        assert workers[0].state["phase"] == "stopped"
        workers[0].start()
        until(lambda: labelled(project) == 8)
        workers[0].close()
        workers.append(LlmWorker(project))
        workers[1].resume()
        until(lambda: workers[1].state["phase"] == "waiting")
        workers[1].stop()
        workers.append(LlmWorker(project))
        workers[2].resume()
        assert [worker.state["phase"] for worker in workers] == ["stopped"] * 3
    assert len(server.asked) == 8


def test_worker_stops_during_a_hanging_request(tmp_path: Path, workers: list[LlmWorker]) -> None:
    project = made(tmp_path, 4)
    with chat_server(in_turn(Sends(never=True))) as server:
        plan(project, base_url=server.url, timeout=1)
        workers.append(LlmWorker(project))
        workers[0].start()
        until(lambda: len(server.asked) == 4)
        workers[0].stop()
        assert workers[0].state["phase"] == "stopped"
        server.reply = in_turn(labels("bug"))
        workers[0].start()
        until(lambda: labelled(project) == 4)


def test_a_new_start_waits_for_the_answers_that_are_on_their_way(tmp_path: Path, workers: list[LlmWorker]) -> None:
    project = made(tmp_path, 8)
    answers = threading.Event()

    def slowly(_: Json) -> Sends:
        assert answers.wait(30)
        return labels("bug", tokens=40)

    with chat_server(slowly) as server:
        plan(project, base_url=server.url)
        workers.append(LlmWorker(project))
        workers[0].start()
        until(lambda: len(server.asked) == 4)
        for again in (workers[0].start, workers[0].stop, workers[0].start):
            again()
        told = "The previous run is still receiving its last answers."
        until(lambda: workers[0].state == {"phase": "waiting", "error": told})
        assert len(server.asked) == 4
        answers.set()
        until(lambda: labelled(project) == 8)
    assert sorted(server.texts) == sorted({*server.texts}), "a text was asked about twice"


def test_failed_job_stays_failed_until_restarted(tmp_path: Path, workers: list[LlmWorker]) -> None:
    project = made(tmp_path, 8)
    with chat_server(in_turn(Sends(b"no", status=401))) as server:
        plan(project, base_url=server.url)
        workers.append(LlmWorker(project))
        workers[0].start()
        until(lambda: not running(project))
        assert (workers[0].state["phase"], workers[0].active) == ("failed", False)
        asked = len(server.asked)
        workers.append(LlmWorker(project))
        workers[1].resume()
        assert (workers[1].state["phase"], len(server.asked)) == ("stopped", asked)


def running(project: Project) -> bool:
    with project.reads() as session:
        return load_settings(session).running


def test_a_plan_that_lacks_something_is_refused(tmp_path: Path) -> None:
    project = made(tmp_path, 4)
    worker = LlmWorker(project)
    with pytest.raises(UserError, match="address"):
        worker.start()
    plan(project, base_url="nowhere")
    with pytest.raises(UserError, match="not a server's address"):
        worker.start()
    with project.reads() as session:
        assert not load_settings(session).running


def test_examples_are_chosen_at_the_start_and_then_kept(tmp_path: Path, workers: list[LlmWorker]) -> None:
    project = made(tmp_path, 8)
    with project.sessions.begin() as session:
        says(session, "me", "t3", "bug")
        says(session, "me", "t4", "idea")
    with chat_server(in_turn(labels("bug", 0.1))) as server:
        plan(project, base_url=server.url, examples=1)
        workers.append(LlmWorker(project))
        workers[0].start()
        until(lambda: len(server.asked) == 6)
        workers[0].stop()
        with project.sessions.begin() as session:
            assert load_settings(session).shown == ("t3", "t4")
            says(session, "me", "t5", "bug")
        workers[0].start()
        until(lambda: workers[0].state["phase"] == "waiting")
    assert len(server.asked) == 6
    assert '{"text": "text 3", "class": "bug"}' in server.asked[0]["messages"][0]["content"]


def test_a_job_from_elsewhere_waits_for_the_owner_to_start_it_once(
    tmp_path: Path, workers: list[LlmWorker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybridal.app.consent.user_state_path", lambda *_, **__: tmp_path / "state")
    project = made(tmp_path, 4)
    project.asks_before_sending = True
    with chat_server(in_turn(labels("bug"))) as server:
        plan(project, base_url=server.url, running=True)
        workers.append(LlmWorker(project))
        workers[0].resume()
        sentence = f"This project comes from elsewhere: Start sends its texts to {server.url} again."
        assert (workers[0].state, server.asked) == ({"phase": "stopped", "error": sentence}, [])
        workers[0].start()
        until(lambda: labelled(project) == 4)
        workers[0].close()
        workers.append(LlmWorker(project))
        workers[1].resume()
        assert workers[1].active
