"""Statistics of a study: pure functions over numbers, which return None if the data do not suffice.

Tests check them against scipy. They avoid importing `scipy.stats`, because that takes longer than making a table.

| file | question |
|---|---|
| `paired` | do two schedules differ, and by more than δ? The bootstrap interval of a mean over cells |
| `ranks` | rank tests, corrected for many comparisons; effect sizes; rank correlation of signals |
| `regret` | how far is a switch from the best one? Which points are on the Pareto front? |
| `tuning` | which (ε, k) does the paper's rule choose, and for which λ? |
"""
