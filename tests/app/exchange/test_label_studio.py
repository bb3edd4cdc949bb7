from typing import Any

import pytest

from hybridal.app.exchange.label_studio import Config, choice, prediction, read_config


def test_the_names_of_a_configuration_are_read() -> None:
    xml = """<View><Header value="Read"/><Text name="article" value="$content"/>
      <View><Choices name="topic" toName="article" choice="single"><Choice value="a"/></Choices></View>
      <Choices name="later" toName="article"/></View><!-- a comment -->"""
    assert read_config(xml) == Config("topic", "article", "content")


@pytest.mark.parametrize(
    "xml",
    [
        None,
        3,
        "",
        "not xml",
        "<View>",
        '<View><Image name="i" value="$u"/><Choices name="c" toName="i"/></View>',
        '<View><Text name="t" value="fixed"/><Choices name="c" toName="t"/></View>',
        '<!DOCTYPE x [<!ENTITY a "aa">]><View><Text name="t" value="$x"/><Choices name="c" toName="t"/></View>',
        "<View>" + " " * 300_000 + "</View>",
    ],
)
def test_any_other_configuration_is_none(xml: Any) -> None:
    assert read_config(xml) is None


def test_a_choice_and_a_prediction_have_the_shape_that_label_studio_reads() -> None:
    config = Config("c", "t", "body")
    region = {"from_name": "c", "to_name": "t", "type": "choices", "value": {"choices": ["bug"]}}
    assert choice("bug", config) == region
    assert choice("bug", config, "why")["meta"] == {"text": ["why"]}
    assert prediction("bug", 0.5, "round 3", config) == {"model_version": "round 3", "score": 0.5, "result": [region]}
