"""Two compiled projects side by side: what the readers of each model lose or gain, and what that reaches downstream.

Breaking: what a reader used is gone, narrower, or may be null now. Safe: a reader of the old shape reads the new one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from planproof import own_errors
from planproof.contract import Contract
from planproof.invariants.compare import Difference, type_differences
from planproof.invariants.registered import is_widened
from planproof.project import Cache, Frozen, Project, ProjectNode, contract_of, read_frozen
from planproof.project.offline import OfflineCheck
from planproof.project.profile import DBT_CONF
from planproof.project.schedule import Schedule
from planproof.report import Details, Report, format_count
from planproof.report.folding import list_names
from planproof_engine import Conf, Finding, Relation, RelationName, Verdict, evolve, join_path, record, split_name
from planproof_engine.schema import ByColumn, LogicalField, by_name, fold_name
from planproof_engine.types import DataType, parse_type

BREAKING, SAFE = "breaking", "safe"
MOST_NAMED = 12
"""Names of what a change reaches, at most, in words for people; `--json` has all of them."""
_PROMISES = ("never null now", "constraint added")


@record(frozen=True, slots=True)
class ColumnShape:
    """A column as readers see it: its name, its type, and whether they may rely on NOT NULL.

    `is_declared`: a contract speaks of the column, and `not_null` is what it says. `is_derived`: the plan gives no
    null.
    """

    name: str
    type: DataType
    not_null: bool = False
    is_declared: bool = False
    is_derived: bool = False

    def __str__(self) -> str:
        return f"{self.type.simple}{' NOT NULL' if self.not_null else ''}"


@record(frozen=True, slots=True)
class Shape:
    """What readers of a relation may rely on: its columns in order, and its declared constraints."""

    relation: str
    columns: tuple[ColumnShape, ...]
    constraints: frozenset[str] = frozenset()


@record(frozen=True, slots=True)
class SchemaChange:
    """One change of one relation. `column` is a path, None where the whole relation is meant. `reaches` lists the
    columns downstream (`relation.column`) that are made of it, and `relation.*` where it only chooses rows;
    `contracts` the relations among them whose contract promises such a column, `exposures` the names of those that read
    the relation or one of them. `file` is the relation's own, where it is still there."""

    relation: str
    column: str | None
    effect: str
    what: str
    before: str | None = None
    after: str | None = None
    reaches: tuple[str, ...] = ()
    contracts: tuple[str, ...] = ()
    exposures: tuple[str, ...] = ()
    file: str | None = None

    @property
    def direction(self) -> str:
        """Whom the change asks something of: `readers`, who lose what they used; `writers`, who have a new promise to
        keep; or `nobody`."""
        if self.effect == BREAKING:
            return "readers"
        return "writers" if self.what in _PROMISES else "nobody"

    @property
    def said(self) -> str:
        return f"{self.what} (binds writers)" if self.direction == "writers" else self.what

    def describe_reach(self) -> list[str]:
        """The contracts and exposures that the change reaches, in words."""
        words = (("the contract of", self.contracts), ("the exposure", self.exposures))
        return [f"{word} {list_names(names, MOST_NAMED)}" for word, names in words if names]

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "direction": self.direction}


@record(frozen=True, slots=True)
class Comparison:
    """Two projects, or sources and their freeze file, side by side. `unread` says what could not be compared, why;
    `remarks` what is true of the two as a whole; `compared` how many relations were."""

    changes: tuple[SchemaChange, ...]
    unread: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    compared: int = 0

    @property
    def breaking(self) -> bool:
        return any(change.effect == BREAKING for change in self.changes)

    @property
    def failed(self) -> bool:
        """Whether planproof itself failed on a relation."""
        return own_errors.ON_MODEL in self.unread.values()


def compare_shapes(before: Shape | None, after: Shape | None, elsewhere: bool = False) -> Iterator[SchemaChange]:
    """The changes of one relation; None where it is not there. `elsewhere`: the two are of two targets, where another
    place is no change."""
    if before is None or after is None:
        shape = before or after
        if shape is not None:
            gone = after is None
            yield SchemaChange(shape.relation, None, BREAKING if gone else SAFE, "removed" if gone else "added")
        return
    if not elsewhere and RelationName.parse(before.relation) != RelationName.parse(after.relation):
        yield SchemaChange(before.relation, None, BREAKING, "moved", before.relation, after.relation)
    yield from _compare_columns(before, after)
    for constraint in sorted(before.constraints - after.constraints):
        yield SchemaChange(after.relation, None, BREAKING, "constraint dropped", constraint, None)
    for constraint in sorted(after.constraints - before.constraints):
        yield SchemaChange(after.relation, None, SAFE, "constraint added", None, constraint)


def _compare_columns(before: Shape, after: Shape) -> Iterator[SchemaChange]:
    relation = after.relation
    old, new = by_name(before.columns), by_name(after.columns)
    for key, column in old.items():
        if key not in new:
            yield SchemaChange(relation, column.name, BREAKING, "column removed", str(column), None)
    for key, column in new.items():
        if key not in old:
            yield SchemaChange(relation, column.name, SAFE, "column added", None, str(column))
        else:
            yield from _compare_column(relation, old[key], column)
    kept = [key for key in old if key in new], [key for key in new if key in old]
    if kept[0] != kept[1]:
        yield SchemaChange(relation, None, SAFE, "columns reordered", ", ".join(kept[0]), ", ".join(kept[1]))


def _compare_column(relation: str, old: ColumnShape, new: ColumnShape) -> Iterator[SchemaChange]:
    for difference in type_differences(old.type, new.type, (new.name,)):
        yield _judge_difference(relation, difference)
    # Who writes down a contract without NOT NULL takes nothing away that the plan alone had given, and still gives.
    kept = old.not_null and not old.is_declared and new.is_derived
    if old.not_null != new.not_null and not kept:
        effect, what = (BREAKING, "may be null now") if old.not_null else (SAFE, "never null now")
        yield SchemaChange(relation, new.name, effect, what, str(old), str(new))


def _judge_difference(relation: str, difference: Difference) -> SchemaChange:
    place, old, new = join_path(difference.path), difference.promised, difference.found
    if old is None or new is None:
        gone = new is None
        what = "field removed" if gone else "field added"
        return SchemaChange(relation, place, BREAKING if gone else SAFE, what, old, new)
    if _is_widening(old, new):
        return SchemaChange(relation, place, SAFE, "type widened", old, new)
    return SchemaChange(
        relation, place, BREAKING, "type narrowed" if _is_widening(new, old) else "type changed", old, new
    )


def _is_widening(narrow: str, wide: str) -> bool:
    try:
        return is_widened(parse_type(narrow), parse_type(wide))
    except ValueError:  # A difference in the order of a struct's fields is told in words.
        return False


_ROWS = "*"
_Column = tuple[str, str]  # Of a relation, by its name or its key.
_OF_ALL = ("removed", "moved")
MOST_REACHED = 250_000
"""Columns that all changes together may reach: in a chain of models they grow with the square of its length."""


def compare_projects(
    before: Project,
    after: Project,
    conf: Conf | None = None,
    frozen: str | Path | None = None,
    *,
    cache: Cache | None = None,
    jobs: int = 1,
) -> Comparison:
    """Every relation of both manifests, models, seeds and sources. `frozen` is a freeze file for both; without it each
    side takes its own, or the other's where it has none. `cache` and `jobs` are as in `check_project`. Raises
    `ProjectError`."""
    own = [read_frozen(project, frozen) for project in (before, after)]
    old_sources, new_sources = (found if found.file else other for found, other in (own, own[::-1]))
    old = _Shapes.of(_place_beside(before, after), conf, old_sources, cache, jobs)
    new = _Shapes.of(_place_beside(after, before), conf, new_sources, cache, jobs)
    changes: list[SchemaChange] = []
    targets, left, beyond = _describe_targets(before, after), MOST_REACHED, 0
    unread = {**old.unread, **new.unread}
    both = [key for key in dict.fromkeys([*old.shapes, *new.shapes]) if key not in unread]
    for key in both:
        other_place = targets is not None and key in after.nodes and _is_built(after.nodes[key])
        for change in compare_shapes(old.shapes.get(key), new.shapes.get(key), other_place):
            if change.what == "moved" and after.nodes[key].kind == "source":
                # Nobody wrote another table: this project reads another one.
                change = evolve(change, effect=SAFE, what="read from elsewhere")
            # A reader that the change stops is planned in the old project alone.
            sides = [new] if change.before is None and change.effect == SAFE else [old, new]
            file = after.nodes[key].file if key in after.nodes else None
            if left > 0:
                change = _follow_change(change, key, sides)
                left -= len(change.reaches)
            else:
                beyond += 1
            changes.append(evolve(change, file=file))
    remarks = [targets] if targets else []
    if beyond:
        reached = f"the others reach {MOST_REACHED - left:,} columns"
        remarks.append(f"what {format_count(beyond, 'change')} reach was not looked for: {reached}")
    said = {key.split(".", 1)[-1]: why for key, why in sorted(unread.items())}
    return Comparison(tuple(changes), said, tuple(remarks), len(both))


def report_changes(found: Comparison) -> list[Report]:
    """One report per relation that changed, the breaking ones first; what could not be compared is skipped, and why."""
    by_relation: dict[str, list[SchemaChange]] = {}
    for change in found.changes:
        by_relation.setdefault(change.relation, []).append(change)
    compared = [_report(relation, changes) for relation, changes in by_relation.items()]
    compared.sort(key=lambda report: (report.verdict is not Verdict.VIOLATED, report.model))
    return [*compared, *(Report(name, "skipped", error=f"not compared: {why}") for name, why in found.unread.items())]


def _report(relation: str, changes: Iterable[SchemaChange]) -> Report:
    changes = list(changes)
    details = Details(file=changes[0].file, fail_on="violated")
    findings = sorted(map(_finding, changes), key=lambda f: (f.verdict is not Verdict.VIOLATED, f.field or ""))
    return Report(relation, "compared", tuple(findings), details=details)


def _finding(change: SchemaChange) -> Finding:
    breaking = change.effect == BREAKING
    message = f"{change.column}: {change.said}" if change.column else change.said
    if change.before or change.after:
        message += f" ({change.before or 'nothing'} -> {change.after or 'nothing'})"
    if change.reaches:
        message += f"; reaches {list_names(change.reaches, MOST_NAMED)}"
    message += "".join(f"; {said}" for said in change.describe_reach())
    return Finding(
        Verdict.VIOLATED if breaking else Verdict.WARNING,
        "PP134" if breaking else "PP135",
        "logical",
        change.column,
        change.before,
        change.after,
        message,
    )


def follow_changes(
    project: Project, conf: Conf | None, frozen: Frozen, changes: Iterable[tuple[str, SchemaChange]]
) -> list[SchemaChange]:
    """The changes of sources, given by unique id, with what each reaches in the project that reads them."""
    changes = list(changes)
    side = _Shapes.of(project, conf, frozen) if changes else _Shapes()
    return [_follow_change(change, key, [side]) for key, change in changes]


def _follow_change(change: SchemaChange, key: str, sides: Sequence[_Shapes]) -> SchemaChange:
    reached, contracts, exposures = set[_Column](), set[str](), set[str]()
    for side in sides:
        found = side.find_reached(change, key)
        reached |= found.keys()
        side.add_readers(key, found.values(), contracts, exposures)
    made = {relation for relation, name in reached if name != _ROWS}
    names = (f"{relation}.{name}" for relation, name in reached if name != _ROWS or relation not in made)
    return evolve(
        change,
        reaches=tuple(sorted(names)),
        contracts=tuple(sorted(contracts)),
        exposures=tuple(sorted(exposures)),
    )


def _is_built(node: ProjectNode) -> bool:
    return node.kind != "source" and node.materialized != "ephemeral"


def _describe_targets(before: Project, after: Project) -> str | None:
    """What to say where the manifests are of two targets: all that dbt builds stands elsewhere, under the same names,
    and no config asked for that. None where they are of one."""
    pairs = [(node, after.nodes[key]) for key, node in before.nodes.items() if _is_built(node) and key in after.nodes]
    moves = [[RelationName(split_name(node.relation)[:-1]) for node in pair] for pair in pairs]
    if not moves or any(old == new for old, new in moves) or not all(_is_same(*pair) for pair in pairs):
        return None
    places = dict.fromkeys(f"{old} to {new}" for old, new in moves)
    return f"two targets: every relation stands elsewhere, which is not counted as a change ({', '.join(places)})"


def _is_same(old: ProjectNode, new: ProjectNode) -> bool:
    """Whether two nodes have one name, and the same configured place."""
    names = [RelationName.parse(node.relation).key[-1:] for node in (old, new)]
    configs = [node.raw.get("config") or {} for node in (old, new)]
    asked = [[config.get(key) for key in ("database", "schema", "alias")] for config in configs]
    return names[0] == names[1] and asked[0] == asked[1]


def _place_beside(project: Project, other: Project) -> Project:
    """A manifest alone, without its project's files, reads the other side's, but for seeds that changed since: of
    those only what the manifest declares is known."""
    if project.directory is not None or other.directory is None:
        return project

    def here(node: ProjectNode) -> ProjectNode:
        twin = other.nodes.get(node.unique_id)
        same = twin is not None and node.raw.get("checksum") == twin.raw.get("checksum")
        return node if same or node.kind != "seed" else evolve(node, file=None)

    nodes = {key: here(node) for key, node in project.nodes.items()}
    return evolve(project, nodes=nodes, directory=other.directory)


@dataclass(slots=True)
class _Shapes:
    """The relations of one project by unique id; `feeds` says per column which columns are made of it directly, each
    with its key, `fed` per relation which of its columns feed others, `promised` which columns a relation's contract
    names, `keys` a relation's unique id, `readers` the relations that read one, by its unique id, `exposures` the names
    of those that read a node."""

    shapes: dict[str, Shape] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    feeds: dict[_Column, dict[_Column, _Column]] = field(default_factory=lambda: defaultdict(dict))
    fed: dict[str, set[_Column]] = field(default_factory=lambda: defaultdict(set))
    promised: dict[str, frozenset[str]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    readers: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    exposures: Mapping[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, project: Project, conf: Conf | None, frozen: Frozen, cache: Cache | None = None, jobs: int = 1
    ) -> _Shapes:
        found = cls(exposures=_find_exposures(project))
        check = OfflineCheck(project, conf or DBT_CONF, frozen)
        schedule = Schedule(check, project.nodes, cache, jobs)
        reports = schedule.reports()
        check.take(schedule.states)
        for key, node in project.nodes.items():
            report = reports.get(key)
            if node.materialized == "ephemeral":
                continue
            for parent in project.judged_parents(node):
                found.readers[parent.unique_id].append(node.relation)
            if key in check.unread:
                found.unread[key] = check.unread[key]
                continue
            relation = check.catalog.find(split_name(node.relation))
            if relation is not None:
                contract = contract_of(node.raw, conf)
                found.shapes[key] = _build_shape(node, relation, contract)
                found.keys[_last_two_parts(node.relation)] = key
                if contract is not None:
                    found.promised[key] = frozenset(map(fold_name, contract.schema.names))
            if report is not None:
                found._note(node.relation, report.details.lineage or {})
        return found

    def _note(self, relation: str, lineage: Mapping[str, Any]) -> None:
        for name, sources in lineage.get("columns", ()):
            for source, column, _ in sources:
                self._feed(source, column, (relation, name))
        for source, column, _ in lineage.get("rows", ()):
            self._feed(source, column, (relation, _ROWS))

    def _feed(self, source: str, column: str, reader: _Column) -> None:
        key = _key(source, column)
        self.feeds[key][reader] = _key(*reader)
        self.fed[key[0]].add(key)

    def add_readers(self, key: str, reached: Iterable[_Column], contracts: set[str], exposures: set[str]) -> None:
        """The contracts that promise a column among `reached`, and the exposures that read its relation or `key`."""
        columns: dict[str, set[str]] = defaultdict(set)
        for relation, name in reached:
            columns[relation].add(name)
        touched = {self.keys[relation]: names for relation, names in columns.items() if relation in self.keys}
        promised = (other for other, names in touched.items() if names & self.promised.get(other, frozenset()))
        contracts.update(self.shapes[other].relation for other in promised)
        exposures.update(name for node in {key, *touched} for name in self.exposures.get(node, ()))

    def find_reached(self, change: SchemaChange, key: str) -> dict[_Column, _Column]:
        """Every column downstream, however far, that is made of the changed one, or of any where the relation is gone,
        and its key; `*` where a reader looks at it to choose rows, or reads no column of it."""
        if change.column is not None:
            waiting = [_key(change.relation, split_name(change.column)[0])]
        elif change.effect == BREAKING and change.what in _OF_ALL:
            waiting = list(self.fed.get(_last_two_parts(change.relation), ()))
        else:
            return {}
        readers = self.readers.get(key, ()) if change.column is None else ()
        seen = {(name, _ROWS): _key(name, _ROWS) for name in readers}
        while waiting:
            for column, reader in self.feeds.get(waiting.pop(), {}).items():
                if column not in seen:
                    seen[column] = reader
                    waiting.append(reader)
        return seen


def _find_exposures(project: Project) -> dict[str, set[str]]:
    """By unique id of a node, the names of the manifest's exposures that read it."""
    given, found = project.manifest.get("exposures"), dict[str, set[str]]()
    for form in given.values() if isinstance(given, Mapping) else ():
        depends_on = form.get("depends_on") if isinstance(form, Mapping) else None
        nodes = depends_on.get("nodes") if isinstance(depends_on, Mapping) else None
        for node in nodes if isinstance(nodes, list) else ():
            found.setdefault(str(node), set()).add(str(form.get("name") or form.get("unique_id") or "?"))
    return found


@lru_cache(maxsize=2**14)
def _last_two_parts(relation: str) -> str:
    return ".".join(RelationName.parse(relation).key[-2:])


def _key(relation: str, column: str) -> _Column:
    """A column's key; a relation is known by its last two parts, however it is spelled."""
    return _last_two_parts(relation), fold_name(column)


def _build_shape(node: ProjectNode, relation: Relation, contract: Contract | None) -> Shape:
    """A contract's promises are what readers may rely on; without one, what the plan gives."""
    promised = ByColumn((f.name, not f.nullable) for f in (contract.schema if contract else ()))

    def column(f: LogicalField) -> ColumnShape:
        derived, name = not f.nullable or f.evidence is not None, f.name
        return ColumnShape(f.name, f.type, promised.get(name, derived), name in promised, derived)

    columns = tuple(map(column, relation.schema))
    constraints = frozenset(map(str, contract.constraints)) if contract is not None else frozenset[str]()
    return Shape(node.relation, columns, constraints)
