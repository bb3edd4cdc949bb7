"""Benchmarks: this engine beside its peers, on the same texts with the same weights."""
