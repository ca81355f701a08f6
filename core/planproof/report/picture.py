"""The picture of a model's logical plan: one box per node, the result on top, and the way of a broken column in red."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from planproof.report.model import Report
from planproof.report.parts import neutralize
from planproof_engine.catalog import split_name
from planproof_engine.finding import Verdict
from planproof_engine.schema import ColumnNames

WIDTH, GAP, LINE, HEAD, PAD = 300, 36, 17, 44, 10
_SHOWN, _TEXT = 12, 38


class Line(NamedTuple):
    """One column in a box."""

    text: str
    full: str
    style: str


class Box(NamedTuple):
    """One node of the plan, at a place in the picture (pixels)."""

    x: int
    y: int
    height: int
    kind: str
    what: str
    full: str
    style: str
    lines: Sequence[Line]


class Edge(NamedTuple):
    """From an input's box up to the box that reads it, under a name or none."""

    x1: int
    y1: int
    x2: int
    y2: int
    name: str
    style: str


def draw_plan(report: Report) -> Markup | None:
    """The SVG of the plan that the report holds (`details.plan`), None where it holds none."""
    plan = report.details.plan or {}
    nodes = plan.get("nodes")
    if not nodes:
        return None
    broken = _find_broken(report, nodes[0])
    boxes = _place_boxes(nodes, broken)
    width = max(box.x for box in boxes) + WIDTH + PAD
    height = max(box.y + box.height for box in boxes) + PAD
    drawn = load_template("picture.html").render(
        boxes=boxes,
        edges=_make_edges(nodes, boxes),
        width=width,
        height=height,
        box_width=WIDTH,
        pad=PAD,
        line=LINE,
        head=HEAD,
        left_out=plan.get("left_out") or 0,
        title=f"the logical plan of {report.model}",
    )
    return Markup(drawn)  # The template escapes every text that it is given.


def _find_broken(report: Report, root: Mapping[str, Any]) -> set[int]:
    """The positions of the output columns that break a promise."""
    fields = ColumnNames(split_name(f.field or "")[0] for f in report.of(Verdict.VIOLATED))
    return {position for column in root["columns"] for position in column[3] if str(column[0]) in fields}


def _place_boxes(nodes: Sequence[Mapping[str, Any]], broken: set[int]) -> list[Box]:
    levels = _levels(nodes)
    widest = max(levels.count(level) for level in levels)
    boxes: dict[int, Box] = {}
    y = PAD
    for level in range(max(levels) + 1):
        row = [i for i in range(len(nodes)) if levels[i] == level]
        x = PAD + (widest - len(row)) * (WIDTH + GAP) // 2
        for i in row:
            boxes[i] = _make_box(nodes[i], x, y, broken)
            x += WIDTH + GAP
        y += max(boxes[i].height for i in row) + GAP
    return [boxes[i] for i in range(len(nodes))]


def _levels(nodes: Sequence[Mapping[str, Any]]) -> list[int]:
    """How far below the result each node stands, by the longest way to it; an input stands later in the list or, where
    it is shared, may stand before its reader."""
    levels = [0] * len(nodes)
    for _ in nodes:
        before = list(levels)
        for i, node in enumerate(nodes):
            for below, _name in node["inputs"]:
                levels[below] = max(levels[below], levels[i] + 1)
        if levels == before:
            break
    return levels


def _make_box(node: Mapping[str, Any], x: int, y: int, broken: set[int]) -> Box:
    columns = sorted(node["columns"], key=lambda column: not broken.intersection(column[3]))
    lines = [_make_line(column, broken) for column in columns[:_SHOWN]]
    more = int(node["more"]) + max(0, len(columns) - _SHOWN)
    if more:
        lines.append(Line(f"and {more} more", "", "dim"))
    style = "broken" if any(line.style == "broken" for line in lines) else str(node["kind"]).lower()
    height = HEAD + LINE * len(lines)
    return Box(x, y, height, str(node["kind"]), _cut(str(node["what"])), str(node["what"]), style, lines)


def _make_line(column: Sequence[Any], broken: set[int]) -> Line:
    name, kind, nullable, reached = column
    full = f"{name} {kind}{'' if nullable else ' NOT NULL'}"
    return Line(_cut(full), full, "broken" if broken.intersection(reached) else "column")


def _make_edges(nodes: Sequence[Mapping[str, Any]], boxes: Sequence[Box]) -> list[Edge]:
    edges = []
    for node, box in zip(nodes, boxes):
        inputs = node["inputs"]
        for i, (below, name) in enumerate(inputs):
            source = boxes[below]
            entry = box.x + WIDTH * (i + 1) // (len(inputs) + 1)
            style = "broken" if box.style == source.style == "broken" else "edge"
            edges.append(Edge(source.x + WIDTH // 2, source.y, entry, box.y + box.height, str(name), style))
    return edges


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"


@lru_cache
def load_template(name: str) -> Template:
    """A template of reports: all text is escaped, and what a reader would not see is named."""
    source = files("planproof.report").joinpath(name).read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: neutralize(value) if type(value) is str else value,
    )
    environment.filters["identity"] = id
    return environment.from_string(source)
