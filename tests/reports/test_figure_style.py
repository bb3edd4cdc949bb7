from __future__ import annotations

import re
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.figure import Figure

from hybridal.reports.figure_style import (
    GRID,
    INK,
    MUTED,
    Drawn,
    colours,
    new_figure,
    save,
    styled,
    to_svg,
    whole_rounds,
)


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


def test_reports_are_light_to_import_and_never_load_pyplot() -> None:
    code = (
        "import sys, hybridal.reports, hybridal.reports.run_report as r\n"
        "assert not {'matplotlib', 'jinja2', 'torch'} & set(sys.modules), 'heavy'\n"
        "from hybridal.reports.round_figures import learning_curve\n"
        "from hybridal.reports.figure_style import to_svg\n"
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


def drawing(text: str = "label") -> Figure:
    with styled():
        figure = new_figure(2)
        axes = figure.subplots()
        axes.plot([1, 2, 3], [1, 3, 2], marker="o", color=colours()["retrain"][0])
        axes.set_xlabel(text)
    return figure


def ids(svg: str) -> list[str]:
    return re.findall(r'\sid="([^"]+)"', svg)


def test_the_same_drawing_gives_the_same_bytes() -> None:
    assert to_svg(drawing()) == to_svg(drawing())


def test_different_drawings_share_no_id_and_names_can_be_given() -> None:
    one, other = to_svg(drawing("one")), to_svg(drawing("other"))
    assert ids(one)
    assert not set(ids(one)) & set(ids(other))
    assert all(id.startswith("mine-") for id in ids(to_svg(drawing(), name="mine")))


def test_every_reference_points_to_an_id_and_every_id_is_used() -> None:
    svg = to_svg(drawing())
    pointed = set(re.findall(r'href="#([^"]+)"', svg)) | set(re.findall(r"url\(#([^)]+)\)", svg))
    assert pointed == set(ids(svg))
    assert len(ids(svg)) == len(set(ids(svg)))


def test_text_stays_text_and_is_escaped() -> None:
    svg = to_svg(drawing('<script>alert("$x$ & $")</script>'), alt='"quoted" <b>')
    assert "<script" not in svg
    texts = [element.text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert '<script>alert("$x$ & $")</script>' in texts
    assert ElementTree.fromstring(svg).get("aria-label") == '"quoted" <b>'


def test_svg_has_no_external_references() -> None:
    svg = to_svg(drawing())
    assert "<style" not in svg
    assert "<metadata" not in svg
    assert re.findall(r"https?://[^\"]*", svg) == ["http://www.w3.org/2000/svg"]


def test_colours_of_the_style_follow_the_page() -> None:
    svg = to_svg(drawing())
    assert "stroke: var(--c-retrain, #1577c8)" in svg
    assert "fill: var(--c-ink, #1f2430)" in svg
    bare = re.sub(r"var\(--c-[a-z-]+, #[0-9a-f]{6}\)", "", svg)
    assert not re.search(r"#[0-9a-f]{6}\b", bare)


def test_style_is_undone_after_drawing() -> None:
    before = dict(mpl.rcParams)
    to_svg(drawing())
    assert dict(mpl.rcParams) == before


def test_a_users_own_matplotlib_style_changes_nothing() -> None:
    plain = to_svg(drawing())
    with mpl.rc_context({"font.size": 30, "lines.linewidth": 9, "axes.grid": False, "svg.fonttype": "path"}):
        assert to_svg(drawing()) == plain


def test_figure_files_have_the_colours_of_the_page(tmp_path: Path) -> None:
    drawn = Drawn(drawing(), "heading", "reading", "alt")
    svg = drawn.svg("one")
    places = [axes.get_position().bounds for axes in drawn.figure.axes]
    save({"one": drawn}, tmp_path)
    assert [axes.get_position().bounds for axes in drawn.figure.axes] == places
    assert to_svg(drawn.figure, "alt", "one") == svg


def test_a_pdf_has_truetype_fonts_of_the_letters_in_use(tmp_path: Path) -> None:
    save({"one": Drawn(drawing("letters"), "heading", "reading", "alt")}, tmp_path)
    pdf = (tmp_path / "one.pdf").read_bytes()
    assert b"/FontFile2" in pdf
    streams = [zlib.decompress(part) for part in re.findall(rb"stream\r?\n(x.*?)\r?\nendstream", pdf, re.DOTALL)]
    fonts = [stream for stream in streams if stream.startswith(b"\x00\x01\x00\x00")]
    assert fonts
    for font in fonts:
        assert b"glyf" in font[:300]
