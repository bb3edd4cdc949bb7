"""Benchmarks: this engine compared with its peers, on the same texts with the same weights."""
