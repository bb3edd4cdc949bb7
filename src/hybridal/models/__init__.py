"""Encoders, classifiers over them, their training, passes over texts, and export."""
