"""The statistics of a study: pure functions over numbers; what cannot be said from the data at hand is None.

They say what scipy's tests say, and are held to them; only to import `scipy.stats` takes longer than a table.

| file | question |
|---|---|
| `paired` | do two schedules differ, by more than δ, and how sure is a mean when whole cells are drawn again? |
| `ranks` | the same asked by ranks, in a whole family; by how much, without a unit; do signals move together? |
| `regret` | how far is a switch from the best one; which points does no other beat? |
| `tuning` | which (ε, k) does the paper's rule choose, and for which λ? |
"""
