"""The laboratory: studies of many runs, their statistics and reports, and the catalogue of the paper."""
