"""The statistics of a study: pure functions over numbers and facts, each with a small result.

What cannot be said from the data at hand is None, and the result's `note` says why in words; input that holds no
numbers is refused with a `UserError`. Nothing is imported here, and scipy only when a function needs it.

| file | question |
|---|---|
| `paired` | do two schedules differ? |
| `noninferiority` | is one no worse than the other by more than δ; are they equivalent? |
| `wilcoxon` | do they differ, asked by ranks, in a whole family of comparisons? |
| `effect` | by how much, without a unit? |
| `bootstrap` | how sure is a number when whole cells are drawn again? |
| `noise` | how far do seeds alone spread? |
| `switching` | when did runs switch, and did the signal come back? |
| `correlation` | do signals move together? |
| `regret` | how far is a switch from the best one? |
| `pareto` | which points does no other beat in cost and in NLL? |
| `tuning` | which (ε, k) does the paper's rule choose, and for which λ? |
| `composition` | what did runs acquire? |
"""
