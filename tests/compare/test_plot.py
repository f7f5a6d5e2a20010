from __future__ import annotations

import xml.etree.ElementTree as ET

from ctxbuild.compare.plot import HEIGHT, WIDTH, Line, svg

SPACE = "{http://www.w3.org/2000/svg}"


def test_a_plot_is_svg_with_a_line_per_tier_inside_its_frame():
    lines = [Line("1: <plain>", ((2000, 0.2), (8000, 0.5))), Line("4", ((4000, 1.0), (1000, 0)))]
    root = ET.fromstring(svg("Recall & tokens", "tokens", "recall", lines))
    drawn = [line.get("points") for line in root.iter(f"{SPACE}polyline")]
    assert len(drawn) == 2
    points = [tuple(map(float, p.split(","))) for line in drawn for p in line.split()]
    assert all(0 < x < WIDTH and 0 < y < HEIGHT for x, y in points)
    assert points == sorted(points[:2]) + sorted(points[2:])
    texts = [text.text for text in root.iter(f"{SPACE}text")]
    assert {"Recall & tokens", "tokens", "recall", "1: <plain>", "4", "0.0", "1.0"} <= set(texts)


def test_a_plot_of_nothing_is_an_empty_frame():
    root = ET.fromstring(svg("", "", "", []))
    assert list(root.iter(f"{SPACE}polyline")) == []


def test_the_same_lines_give_the_same_plot():
    lines = [Line("a", ((1, 0.1), (3, 0.2)))]
    assert svg("t", "x", "y", lines) == svg("t", "x", "y", lines)
