"""Statistics of a study: pure functions over numbers, which return None if the data do not suffice.

Tests check them against scipy. They avoid importing `scipy.stats`, because that takes longer than making a table.

| file | question |
|---|---|
| `paired` | do two schedules differ, by more than δ, and how sure is a mean when whole cells are drawn again? |
| `ranks` | the same asked by ranks, in a whole family; by how much, without a unit; do signals move together? |
| `regret` | how far is a switch from the best one; which points does no other beat? |
| `tuning` | which (ε, k) does the paper's rule choose, and for which λ? |
"""
