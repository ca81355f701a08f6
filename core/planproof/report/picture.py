"""The picture of a model's logical plan, one box per node, the result on top; of a broken column's way through it and
through the models of one run; and of each column across the planes, to where a promise first breaks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from planproof.report.model import PLANES, PlaneReading, Report
from planproof.report.parts import neutralize
from planproof_engine import ColumnNames, Finding, RelationName, Verdict, fold_name, split_name


class Cell(NamedTuple):
    """What one plane says of one column. `style` is `said`; `nothing`, where the plane has no such column or was not
    read; or `first`, for the first plane that breaks the column's promise. `why` says how it does."""

    text: str
    style: str
    why: str = ""


class Row(NamedTuple):
    """One column of the model with its cell for each plane."""

    name: str
    cells: Sequence[Cell]


class Matrix(NamedTuple):
    """`planes` are those that show a column; `rows` has a broken column before the others."""

    planes: Sequence[str]
    rows: Sequence[Row]


def build_matrix(report: Report) -> Matrix | None:
    """The report's columns by its planes, None where no plane was read with its columns."""
    schemas = {reading.plane: _format_columns(reading) for reading in report.planes if reading.schema is not None}
    first = _find_first_breaks(report)
    if not schemas:
        return None
    broken_at = {finding.plane for finding in first.values()}
    shown = [plane for plane in PLANES if plane in schemas or plane in broken_at]
    names = dict.fromkeys(name for plane in shown for name in schemas.get(plane, {}))
    names.update(dict.fromkeys(name for name in first if name not in names))
    rows = [Row(name, [_make_cell(name, plane, schemas, first.get(name)) for plane in shown]) for name in names]
    rows.sort(key=lambda row: row.name not in first)
    return Matrix(shown, rows)


def _format_columns(reading: PlaneReading) -> Mapping[str, str]:
    return {name: f"{kind}{'' if nullable else ' NOT NULL'}" for name, kind, nullable in reading.schema or ()}


def _find_first_breaks(report: Report) -> dict[str, Finding]:
    """For each column whose promise is violated, the finding of the first plane that shows it."""
    found: dict[str, Finding] = {}
    for finding in sorted(report.of(Verdict.VIOLATED), key=lambda f: PLANES.index(f.plane)):
        if finding.field:
            found.setdefault(split_name(finding.field)[0], finding)
    return found


def _make_cell(name: str, plane: str, schemas: Mapping[str, Mapping[str, str]], broken: Finding | None) -> Cell:
    text = schemas.get(plane, {}).get(name, "")
    if broken is not None and broken.plane == plane:
        return Cell(broken.found or text or "missing", "first", f"promised {broken.promised or 'otherwise'}")
    return Cell(text or "-", "said" if text else "nothing")


DEEPEST = 12
MOST = 500_000
"""Columns from which others are made, of all models of a run: a page of more shows no ways."""


class Stop(NamedTuple):
    """One column on the way; `broken` marks the one whose promise is violated."""

    name: str
    broken: bool = False


_Column = tuple[str, str]


class Ways:
    """The columns of all reports of a run, and which are made of which: looked at once, where a page asks first."""

    def __init__(self, reports: Sequence[Report]) -> None:
        self._reports = reports
        self.made_of: dict[_Column, list[_Column]] = {}
        self.feeds: dict[_Column, list[_Column]] = {}
        self.shown: dict[_Column, str] = {}

    @cached_property
    def _is_known(self) -> bool:
        """Whether the columns were looked at: not of a run that has too many."""
        left = MOST
        for report in self._reports:
            for name, sources in (report.details.lineage or {}).get("columns", ()):
                left -= len(sources)
                if left < 0:
                    self.made_of, self.feeds, self.shown = {}, {}, {}
                    return False
                own = self._known_column(report.model, name)
                for source in sources:
                    other = self._known_column(str(source[0]), str(source[1]))
                    self.made_of.setdefault(own, []).append(other)
                    self.feeds.setdefault(other, []).append(own)
        return True

    def find_ways(self, report: Report) -> list[list[Stop]]:
        """For each column of the model whose promise is violated, its way; a column that stands alone has none."""
        fields = dict.fromkeys(split_name(f.field)[0] for f in report.of(Verdict.VIOLATED) if f.field)
        ways = [self._follow(_column_key(report.model, name)) for name in fields] if fields and self._is_known else []
        return [way for way in ways if len(way) > 1]

    def _follow(self, column: _Column) -> list[Stop]:
        before, after = list(_follow_edges(column, self.made_of)), list(_follow_edges(column, self.feeds))
        names = [(c, False) for c in reversed(before)], [(column, True)], [(c, False) for c in after]
        return [Stop(self.shown.get(c, ".".join(c)), broken) for part in names for c, broken in part]

    def _known_column(self, relation: str, column: str) -> _Column:
        key = _column_key(relation, column)
        self.shown.setdefault(key, f"{relation}.{column}")
        return key


def _follow_edges(column: _Column, edges: Mapping[_Column, Sequence[_Column]]) -> Iterator[_Column]:
    """From a column along the first edge each time, not in circles and not too far."""
    seen = {column}
    while len(seen) <= DEEPEST:
        following: Any = next((c for c in edges.get(column, ()) if c not in seen), None)
        if following is None:
            return
        yield following
        seen.add(following)
        column = following


def _column_key(relation: str, column: str) -> _Column:
    """A relation is known by its last two parts, however it is spelled."""
    return ".".join(RelationName.parse(relation).key[-2:]), fold_name(column)


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
