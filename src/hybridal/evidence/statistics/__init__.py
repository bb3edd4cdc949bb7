"""The statistics of a study: pure functions over numbers and facts, each with a small result.

What cannot be said from the data at hand is None, and the result's `note` says why in words; input that holds no
numbers is refused with a `UserError`. The tests are scipy's; when to ask them, and what, is ours.

| file | question |
|---|---|
| `paired` | do two schedules differ; is one no worse than the other by more than δ; are they equivalent? |
| `ranks` | the same asked by ranks, in a whole family; by how much, without a unit; do signals move together? |
| `bootstrap` | how sure is a number when whole cells are drawn again; how far do seeds alone spread? |
| `switching` | when did runs switch, and did the signal come back? |
| `regret` | how far is a switch from the best one; which points does no other beat? |
| `tuning` | which (ε, k) does the paper's rule choose, and for which λ? |
| `composition` | what did runs acquire? |
"""
