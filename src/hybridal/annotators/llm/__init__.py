"""A language model as annotator: any server that speaks OpenAI's chat protocol."""
