import re
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.figure import Figure

from hybridal.evidence.style import colours, new_figure, styled, to_svg


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


def test_nothing_reaches_out_of_the_figure() -> None:
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


def test_the_style_leaves_no_trace() -> None:
    before = dict(mpl.rcParams)
    to_svg(drawing())
    assert dict(mpl.rcParams) == before


def test_a_users_own_matplotlib_style_changes_nothing() -> None:
    plain = to_svg(drawing())
    with mpl.rc_context({"font.size": 30, "lines.linewidth": 9, "axes.grid": False, "svg.fonttype": "path"}):
        assert to_svg(drawing()) == plain
