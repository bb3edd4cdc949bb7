"""Shares, differences and trends of classes with intervals that are valid whatever the model's errors are."""
