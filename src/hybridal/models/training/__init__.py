"""Training rounds: steps, optimiser, early stopping, forward passes, probe."""
