"""A language model as annotator: any server that speaks OpenAI's chat protocol."""

from hybridal.annotators.llm.llm_annotator import LlmAnnotator

__all__ = ["LlmAnnotator"]
