"""Figures of rounds: each a pure function from histories (spec -> rounds) to a matplotlib Figure."""
