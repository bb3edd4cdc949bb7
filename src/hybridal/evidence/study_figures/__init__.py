"""The figures of a study: every one of the paper, and regret, from any study that has the data.

Each is a pure function of a study's tables and folder, in a file of its own, which returns None where the study lacks
what it shows. matplotlib is loaded when figures are drawn.

| file | question |
|---|---|
| `radar` | is one schedule best at everything? |
| `violins` | is F1 kept? |
| `trajectories` | how do F1 and NLL go, round by round? |
| `pareto_plane` | what does calibration cost? |
| `switch_tradeoff` | when to switch? |
| `regret_by_signal` | how far is each signal from the best switch round? |
| `control_charts` | how does a signal decide? |
| `stretches` | what does patience filter out? |
| `correlation_matrix` | do signals say the same? |
| `parallel_signals` | which signal serves best? |
| `signal_f1` | does it matter which signal decides? |
| `cross_sections` | which ε and k? |
| `sensitivity` | does a choice of the protocol matter, such as the subset size? |
"""

from hybridal.evidence.study_figures.drawn import Drawn
from hybridal.evidence.study_figures.gallery import all_figures
from hybridal.evidence.study_figures.saving import save

__all__ = ["Drawn", "all_figures", "save"]
