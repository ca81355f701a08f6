"""What a compiled text may name besides the parents that the manifest lists for it.

A macro that calls `ref()` only while dbt renders (`{% if execute %}`) leaves `depends_on` empty. Such a relation is
looked for among all that the manifest and the freeze file hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from planproof.project import Project, ProjectNode, read_project
from planproof.project.reads import note_unrepeatable
from planproof_engine import Catalog, Relation, RelationName, evolve, split_name

Parts = tuple[str, ...]


class NotedCatalog(Catalog):
    """A catalog that notes which names are looked up in it, found or not; `source` is asked for those it lacks, and
    `listed` for the names that stand near a wrong one.

    What `source` answers is not kept: its name is spelled as the one who asked spells it. `asked` are all names that
    were looked up since `forget`, `was_listed` says whether the list was read.
    """

    __slots__ = ("_listed", "_noted", "asked", "was_listed")

    def __init__(self, source: Callable[[Parts], Relation | None], listed: Callable[[], tuple[str, ...]]) -> None:
        super().__init__(source=source)
        self._noted: list[dict[Parts, Relation | None]] = []
        self._listed = listed
        self.asked: dict[Parts, None] = {}
        self.was_listed = False

    def forget(self) -> None:
        """Drops all relations, and what was noted."""
        self._found.clear()
        self.asked, self.was_listed = {}, False

    def find_registered(self, name: str) -> Relation | None:
        """The relation of exactly this name; nobody is asked for it."""
        return self._found.get(tuple(part.lower() for part in split_name(name)))

    @property
    def names(self) -> tuple[str, ...]:
        self.was_listed = True
        return self._listed()

    def _ask(self, parts: Parts) -> Relation | None:
        return self.source(parts) if self.source else None

    @contextmanager
    def note_lookups(self) -> Iterator[Mapping[Parts, Relation | None]]:
        """What was looked up since, without what another one that began later notes."""
        self._noted.append({})
        try:
            yield self._noted[-1]
        finally:
            self._noted.pop()

    def find(self, parts: Parts) -> Relation | None:
        self.asked[parts_of(parts)] = None
        found = Catalog.find(self, parts)
        if self._noted:
            self._noted[-1][parts_of(parts)] = found
        return found


def merge_state(project: Project, state: str | Path) -> Project:
    """The project as `dbt build --defer` meant it: relations of the other state stand for their models, and a model
    that dbt did not compile has the text of the other state, where its file is the same. Raises `ProjectError`."""
    note_unrepeatable()
    file = Path(state) / "manifest.json"
    other = read_project(file) if file.is_file() else None
    if other is None:
        return project

    def deferred(node: ProjectNode) -> ProjectNode:
        twin = other.nodes.get(node.unique_id)
        if twin is None or node.kind == "source":
            return node
        raw = {**node.raw, "defer_relation": node.raw.get("defer_relation") or {"relation_name": twin.relation}}
        if node.sql is None and twin.raw.get("checksum") == node.raw.get("checksum"):
            raw["compiled_code"] = twin.sql
        return evolve(node, raw=raw)

    return evolve(project, nodes={key: deferred(node) for key, node in project.nodes.items()})


def parts_of(given: str | Parts) -> Parts:
    """What all spellings of a relation's name share."""
    return (RelationName.parse(given) if isinstance(given, str) else RelationName(given)).key


def stored_nodes(project: Project) -> Mapping[Parts, ProjectNode]:
    """The project's stored relations by their parts; a relation that two nodes claim is nobody's.

    Where dbt deferred to another state (`--defer`), a text reads a model where that state has it.
    """
    found: dict[Parts, ProjectNode | None] = {}
    for node in project.nodes.values():
        if node.materialized != "ephemeral":
            key = parts_of(node.relation)
            found[key] = None if key in found else node
    for node in project.nodes.values():
        deferred = node.raw.get("defer_relation")
        name = deferred.get("relation_name") if isinstance(deferred, Mapping) else None
        if isinstance(name, str) and name and node.materialized != "ephemeral":
            found.setdefault(parts_of(name), node)
    return {key: node for key, node in found.items() if node is not None}
