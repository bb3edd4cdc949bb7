import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import matplotlib as mpl

from hybridal.evidence.style import GRID, INK, MUTED, colours, new_figure, styled, to_svg, whole_rounds


def test_colour_names_are_css_names_and_no_light_colour_means_two_things() -> None:
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in colours())
    lights = [light for light, _ in colours().values()]
    assert len(set(lights)) == len(lights)
    assert all(re.fullmatch(r"#[0-9a-f]{6}", side) for pair in colours().values() for side in pair)


def test_round_axes_have_whole_ticks() -> None:
    for rounds in (1, 2, 10, 25):
        with styled():
            axes = new_figure(2).subplots()
            whole_rounds(axes, rounds)
            ticks = [tick for tick in axes.get_xticks() if 0.5 <= tick <= rounds + 0.5]
        assert ticks
        assert all(tick == int(tick) and tick >= 1 for tick in ticks), rounds


def test_figures_of_several_threads_do_not_disturb_each_other() -> None:
    def draw(text: str) -> str:
        with styled():
            figure = new_figure(1.5)
            figure.subplots().set_xlabel(text)
        return to_svg(figure)

    alone = [draw(f"{number}") for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(draw, (f"{number}" for number in range(4)))) == alone


def test_evidence_is_light_to_import_and_pyplot_is_never_loaded() -> None:
    code = (
        "import sys, hybridal.evidence, hybridal.evidence.run_report as r\n"
        "assert not {'matplotlib', 'jinja2', 'torch'} & set(sys.modules), 'heavy'\n"
        "from hybridal.evidence.round_figures import learning_curve\n"
        "from hybridal.evidence.style import to_svg\n"
        "to_svg(learning_curve({'retrain': []}))\n"
        "assert not {'matplotlib.pyplot', 'torch'} & set(sys.modules), 'pyplot'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_file_of_the_style_has_the_inks_of_the_pages() -> None:
    with styled():
        assert {mpl.rcParams[name] for name in ("text.color", "axes.labelcolor", "xtick.labelcolor")} == {INK}
        assert {mpl.rcParams[name] for name in ("axes.edgecolor", "xtick.color", "ytick.color")} == {MUTED}
        assert (mpl.rcParams["grid.color"], mpl.rcParams["font.size"]) == (GRID, 9)
        assert new_figure(3.0).get_size_inches().tolist() == [4.2, 3.0]
