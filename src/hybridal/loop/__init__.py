"""The active-learning loop (Algorithm 1 of the paper) and how its first texts are chosen."""
