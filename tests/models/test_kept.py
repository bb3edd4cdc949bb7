from __future__ import annotations

import threading

import pytest

from hybridal.backbones import Backbone
from hybridal.core.rules import protocol
from hybridal.models.classifier import Classifier
from hybridal.models.examples import Examples
from hybridal.models.kept import Kept, classifier_for
from hybridal.models.training import fit
from hybridal.tasks import Task
from hybridal.updates import Plan

from .parts import CPU, LENGTH, examples_of, same_weights

RULES = protocol("paper", {"learning_rate": 1e-3, "max_epochs": 1, "stop_after": None, "max_length": LENGTH})


def asked(backbone: Backbone, task: Task, seed: int = 1, pooling: str = "mean", top: int | None = None) -> Classifier:
    return classifier_for(backbone, task.classes, seed, CPU, top, pooling)


def trained(classifier: Classifier, backbone: Backbone, task: Task) -> Classifier:
    tokens = examples_of(backbone, task.train)
    examples = Examples(classifier.source(tokens.source), tokens.rows, tokens.labels)  # type: ignore[arg-type]
    fit(classifier, Plan(classifier.pretrained, examples.rows), examples, None, examples.labels, RULES, 3, 1)
    return classifier


@pytest.mark.parametrize(("pooling", "top"), [("mean", None), ("first", None), ("first", 1)])
def test_one_that_has_served_is_as_good_as_new(tiny: Backbone, task: Task, pooling: str, top: int | None) -> None:
    kept, new = Kept(), Classifier(tiny, task.classes, 2, CPU, top, pooling)
    with kept.serving():
        used = trained(asked(tiny, task, 1, pooling, top), tiny, task)
    with kept.serving():
        again = asked(tiny, task, 2, pooling, top)
    assert again is used
    for found in (again, again.twin()):
        assert same_weights(found.pretrained, new.pretrained)
        assert same_weights(found.weights(), new.weights())
    assert same_weights(trained(again, tiny, task).weights(), trained(new, tiny, task).weights())


def test_another_make_is_another_classifier(tiny: Backbone, task: Task) -> None:
    kept = Kept()
    with kept.serving():
        first = asked(tiny, task)
        other = asked(tiny, task, pooling="first")
        assert other is not first
        assert asked(tiny, task, pooling="first") is other
        assert asked(tiny, task) is not first  # only the last one is kept


def test_what_was_left_in_the_middle_is_not_used_again(tiny: Backbone, task: Task) -> None:
    kept, found = Kept(), list[Classifier]()

    def stop() -> None:
        with kept.serving():
            found.append(asked(tiny, task))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    with kept.serving():
        assert asked(tiny, task) is not found[0]


def test_outside_and_in_other_threads_everybody_has_their_own(tiny: Backbone, task: Task) -> None:
    kept, found = Kept(), list[Classifier]()
    with kept.serving():
        found.append(asked(tiny, task))
        other = threading.Thread(target=lambda: found.append(asked(tiny, task)))
        other.start()
        other.join(60)
    found.append(asked(tiny, task))
    assert len({id(one) for one in found}) == 3
