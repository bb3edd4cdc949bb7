"""`backbone: auto`, the default: several candidate encoders, among which the labels decide.

The settings of a run name the candidates that it uses (`auto:gte-small,minilm`), so that a resumed run has the same.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from math import inf
from threading import Event, Thread
from time import monotonic

from hybridal.backbones.load import load_backbone, local_backbone
from hybridal.errors import UserError
from hybridal.tasks.task import Task

AUTO = "auto"
# The default candidates, the best on average first: it is kept unless another is clearly better. `minilm` needs no hub.
DEFAULT_CANDIDATES = ("gte-small", "minilm")
# How long to wait for the hub before candidates that would be downloaded are left out.
SECONDS_TO_REACH_HUB = 3.0
SECONDS_UNTIL_ASKED_AGAIN = 600.0
# By address: whether a hub answered, and when it was asked.
_asked_hubs: dict[str, tuple[bool, float]] = {}


def candidate_names(backbone: str) -> tuple[str, ...]:
    """Return the candidates of a backbone setting; a named encoder is the only one.

    Args:
        backbone: A name, folder or hub id, `auto`, or `auto:` and a list of them.

    Raises:
        UserError: If the list is empty or names an encoder twice.

    Example:
        >>> candidate_names("auto:minilm,./my-encoder"), candidate_names("auto"), candidate_names("mpnet")
        (('minilm', './my-encoder'), ('gte-small', 'minilm'), ('mpnet',))
    """
    if not is_auto(backbone):
        return (backbone,)
    if backbone == AUTO:
        return DEFAULT_CANDIDATES
    names = tuple(name.strip() for name in backbone.removeprefix(f"{AUTO}:").split(","))
    if "" in names:
        raise UserError(f"Backbone '{backbone}' lacks a candidate; write auto:minilm,gte-small.", field="backbone")
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"Backbone '{backbone}' names {name} twice; name it once.", field="backbone")
    return names


def is_auto(backbone: str) -> bool:
    """Return whether a backbone setting leaves the choice to the labels.

    >>> is_auto("auto"), is_auto("auto:minilm"), is_auto("automatic")
    (True, True, False)
    """
    return backbone == AUTO or backbone.startswith(f"{AUTO}:")


def with_candidates(backbone: str, task: Task, notify: Callable[[str], None] = lambda _: None) -> str:
    """Return the setting with its candidates written out; `auto` takes the default ones that are available here.

    A candidate that is not on this machine is downloaded, if the hub answers within a few seconds. If only the last one
    is available, its name is returned: records are the same as with that name.

    Args:
        backbone: The setting; others than `auto` are returned as they are.
        task: For `load_backbone`.
        notify: Receives messages about downloads, and about candidates that are left out.

    Raises:
        UserError: If not even the last candidate is available.
    """
    if backbone != AUTO:
        return backbone
    *others, last = DEFAULT_CANDIDATES
    load_backbone(last, task, notify)
    found = [name for name in others if _is_available(name, task, notify)]
    return f"{AUTO}:{','.join([*found, last])}" if found else last


def _is_available(name: str, task: Task, notify: Callable[[str], None]) -> bool:
    """Whether an encoder is on this machine or can be downloaded; it is downloaded then."""
    if local_backbone(name, task) is not None:
        return True
    if _hub_answers():
        with suppress(UserError):
            load_backbone(name, task, notify)
            return True
    notify(f"Backbone '{name}' is neither on this machine nor available from the hub; it is no candidate.")
    return False


def _hub_answers() -> bool:
    """Whether the hub answers soon; a download would try for minutes."""
    from huggingface_hub import constants

    return not constants.is_offline_mode() and _is_reachable(constants.ENDPOINT)


def _is_reachable(address: str) -> bool:
    """Whether an address answers soon; within ten minutes the last answer counts.

    A process that started without a connection asks again for a later project. An old answer that it is there does not
    count either: a download would try for minutes.

    The request runs in a thread: the timeout of the client covers neither the lookup of a name nor a second address.
    """
    from huggingface_hub import get_session

    is_reachable, asked = _asked_hubs.get(address, (False, -inf))
    if monotonic() - asked < SECONDS_UNTIL_ASKED_AGAIN:
        return is_reachable
    answered = Event()

    def ask() -> None:
        with suppress(Exception):  # the client raises various errors
            if get_session().head(address, timeout=SECONDS_TO_REACH_HUB).status_code < 400:
                answered.set()

    request = Thread(target=ask, daemon=True)
    request.start()
    request.join(SECONDS_TO_REACH_HUB)
    is_reachable = answered.is_set()
    _asked_hubs[address] = (is_reachable, monotonic())
    return is_reachable
