"""The hazards of an incremental model's two texts, as a project's manifest tells them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from planproof.project import Project, ProjectError, ProjectNode
from planproof.project.lookup import parts_of
from planproof.project.nodes import split_columns
from planproof_engine import Finding, LogicalPlan, deeply, evolve
from planproof_engine.hazards import Written, make_unproved, suspected_batches
from planproof_engine.hazards import suspected_increments as suspected
from planproof_engine.origin import AnalysisError, Unknown, place

_REMADE = ("model", "snapshot")
_DELETES = re.compile(r"delete|truncate|purge", re.IGNORECASE)
_CHANGES = re.compile(r"\b(update|into|overwrite)(\s+table)?\s+\{\{-?\s*this\b", re.IGNORECASE)
_DIFFERS = re.compile(r"\bcurrent_|\bnow\s*\(|\brand|\buuid|\b(from|join)\s+[\w`]+\s*\.", re.IGNORECASE)


def judge_increments(
    project: Project, node: ProjectNode, append_only: str, plan: Callable[[str], LogicalPlan]
) -> list[Finding]:
    """Why a full refresh of a model would make another table, or the proof that it would not; nothing where nobody can
    tell. `plan` plans a text over what is known."""
    from planproof.project.both_texts import find_both_texts  # With Jinja, which takes long.

    config = node.raw.get("config") or {}
    if config.get("incremental_strategy") == "microbatch":
        return _judge_batches(node, config, plan)
    texts = find_both_texts(project, node)
    if texts is None:
        return []
    try:
        first, later = plan(texts.first), plan(texts.later)
        found, proof = deeply(
            lambda: suspected(first.root, later.root, _describe_write(project, node, later, append_only))
        )
    except (AnalysisError, Unknown, ProjectError, RecursionError):
        return []  # The judgement of the compiled text says what is not known.
    if any(map(_DELETES.search, node.hooks())):
        found = [one for one in found if one.finding.code not in ("PP142", "PP143")]
        proof = make_unproved(append_only, "a hook deletes rows") if append_only and not found else None
    elif proof is not None and any(map(_CHANGES.search, node.hooks())):
        proof = make_unproved(append_only, "a hook changes rows")
    own = node.sql or ""
    placed = []
    for suspicion in found:
        part = texts.later[slice(*suspicion.span)] if suspicion.span is not None else ""
        at = own.find(part) if part and own.count(part) == 1 else -1
        origin = place(own, at, at + len(part)) if at >= 0 else None
        placed.append(evolve(suspicion.finding, origin=origin))
    return placed + ([proof] if proof is not None else [])


def _judge_batches(
    node: ProjectNode, config: Mapping[str, object], plan: Callable[[str], LogicalPlan]
) -> list[Finding]:
    time, batch = str(config.get("event_time") or ""), str(config.get("batch_size") or "")
    try:
        root = plan(node.sql or "").root
        found = deeply(lambda: list(suspected_batches(root, time, batch, _read_names(config.get("partition_by")))))
    except (AnalysisError, Unknown, RecursionError):
        return []
    return [suspicion.finding for suspicion in found]


def find_first_plan(project: Project, node: ProjectNode, plan: Callable[[str], LogicalPlan]) -> LogicalPlan | None:
    """The plan of the first run, whose table the text of a later run reads; None where the text at hand is no such."""
    from planproof.project.both_texts import find_both_texts  # With Jinja, which takes long.

    texts = find_both_texts(project, node)
    if texts is None or texts.later.strip() != (node.sql or "").strip():
        return None
    try:
        return plan(texts.first)
    except (AnalysisError, Unknown):
        return None


def _describe_write(project: Project, node: ProjectNode, later: LogicalPlan, append_only: str) -> Written:
    from planproof_engine.plans import Scan

    config = node.raw.get("config") or {}
    read = {parts_of(scan.relation): scan.relation for scan in later.root.walk_everywhere() if isinstance(scan, Scan)}
    return Written(
        read.get(parts_of(node.relation), node.relation),
        _find_strategy(config),
        _read_names(config.get("unique_key")),
        _read_names(config.get("partition_by")),
        frozenset(read.get(parts_of(name), name) for name in list_remade(project, node)),
        append_only or None,
        _read_texts(config.get("incremental_predicates") or config.get("predicates")),
        later.text,
        frozenset(
            (read.get(parts_of(parent.relation), parent.relation), name.lower())
            for parent in (node, *project.stored_parents(node))
            for name in project.tested_unique.get(parent.unique_id, ())
        ),
        frozenset(
            name.lower()
            for key, names in project.tested_unique.items()
            for name in names
            if key not in (node.unique_id, *node.parents)
        ),
    )


def list_remade(project: Project, node: ProjectNode) -> list[str]:
    """The relations that a model reads and that dbt makes anew, with other rows."""
    parents = [p for p in project.stored_parents(node) if p.kind in _REMADE]
    return [p.relation for p in parents if not _is_constant(project, p)]


def _read_names(given: object) -> tuple[str, ...]:
    return split_columns(_read_texts(given))


def _read_texts(given: object) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(map(str, given)) if isinstance(given, list) else ()


def _find_strategy(config: Mapping[str, object]) -> str:
    """dbt-spark's MERGE without a key matches no row (`ON FALSE`): it appends."""
    strategy = str(config.get("incremental_strategy") or "append")
    return "append" if strategy == "merge" and not config.get("unique_key") else strategy


def _is_constant(project: Project, node: ProjectNode) -> bool:
    """Whether a model reads nothing but what its own SQL says, such as a calendar: dbt makes the same table anew."""
    nodes = [node, *(project.nodes[key] for key in project.ancestors([node.unique_id]) if key in project.nodes)]
    return all(n.kind == "model" and n.sql is not None and _DIFFERS.search(n.sql) is None for n in nodes)
