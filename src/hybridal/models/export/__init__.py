"""Models for others: transformers' own format, portable code, ONNX."""
