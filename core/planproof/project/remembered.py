"""A model's judgement in the cache: what it depends on, and whether that has changed."""

from __future__ import annotations

import json
import marshal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planproof.project import ProjectNode
from planproof.project.cache import Cache, code_digest, digest_of
from planproof.project.compiled import template_of
from planproof.project.finished import Earlier, Form, form_of_conf
from planproof.project.increments import list_remade
from planproof.project.offline import OfflineCheck
from planproof.project.state import State, Visit, Wanted, digest, digest_of_known
from planproof.report import Report
from planproof.report.packed import pack, report_of, unpack
from planproof_engine import record

_UNREAD = ("created_at",)
"""Keys of a manifest's node that nothing reads and dbt writes anew."""


@record(frozen=True, slots=True)
class JudgedNode:
    """A visit as bytes: its report without and with the plan, what it leaves, and what its text looked up.

    `large` is None in a brief check. `besides` are nodes that the text reads and the manifest does not list among its
    parents, where the cache says so. `head` is what the cache's entry begins with, `form` the report where the check
    before told it.
    """

    small: bytes
    large: bytes | None
    state: State
    asked: tuple[tuple[str, ...], ...] = ()
    listed: bool = False
    besides: tuple[str, ...] = ()
    head: bytes = b""
    form: Form | None = None

    @classmethod
    def of(cls, node: ProjectNode, visit: Visit, *, is_brief: bool) -> JudgedNode:
        if visit.report is None:
            return cls(b"", b"", visit.state)
        small, large = pack(visit.report, node.sql, is_brief=is_brief)
        return cls(small, large, visit.state, visit.asked, bool(visit.listed))

    def load_report(self, node: ProjectNode) -> Report | None:
        if self.form is not None:
            return report_of(self.form)
        return unpack(self.small, self.large, node.sql) if self.small else None


@dataclass(slots=True)
class JudgementCache:
    """The cache as one check asks it. `states` are those of the nodes that were visited."""

    check: OfflineCheck
    cache: Cache
    states: Mapping[str, State]
    earlier: Earlier | None = None
    digests: dict[str, str] = field(default_factory=dict)
    _project: bytes = b""
    _names: str = ""
    _beside: bytes = b""
    _frozen: dict[int, str] = field(default_factory=dict)
    _parents: dict[str, tuple[ProjectNode, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check = self.check
        said = [
            form_of_conf(check.conf),
            check.project.name,
            list(check.project.operations),
            check.frozen.file,
            dict(check.overrides),
            check.project.variables,
        ]
        self._project = digest_of((code_digest(), json.dumps(said, sort_keys=True, default=str).encode()))
        self._names = digest(json.dumps(check.names).encode())

    def compute_key(self, node: ProjectNode, changed: str | None) -> bytes | None:
        """The digest of what the model's judgement depends on, but for names that its text alone tells; None where its
        description holds what no JSON does. `changed` is what `check.files` said of the model just now."""
        check, raw = self.check, node.raw
        found = self._parents[node.unique_id] = check.project.judged_parents(node)
        parents = [(p.unique_id, p.relation, self.digest(p.unique_id)) for p in found]
        own = check.frozen.find(node.relation) if node.materialized == "incremental" else None
        try:
            read = dict(raw)
            for unread in _UNREAD:
                read.pop(unread, None)
            text = marshal.dumps(read, 2)
            files = (changed, template_of(raw, check.project.directory, check.files.opened))
            incremental = self._digest_increments(node) if node.materialized == "incremental" else None
            beside = marshal.dumps((files, parents, self._digest_known(own), incremental), 2)
        except ValueError:
            return None
        return digest_of((self._project, text, beside))

    def find(self, node: ProjectNode, key: bytes) -> JudgedNode | None:
        """The judgement, where all that its text looked up is still what it was. Raises `Wanted`."""
        try:
            found = self._find_entry(key)
            if found is None:
                return None
            head, small, large, form = found
            asked, names, state, of_state = marshal.loads(head)
            if (asked, names) != self._trace_lookups([tuple(answer[0]) for answer in asked], node, listed=names):
                return None
            besides = tuple(answer[1] for answer in asked if len(answer) == 3)
            judged = JudgedNode(small, large, State(*state), besides=besides, head=head, form=form)
        except (ValueError, KeyError, TypeError, EOFError):
            return None
        self.cache.hits += 1
        self.digests[node.unique_id] = of_state
        return judged

    def _find_entry(self, key: bytes) -> tuple[bytes, bytes, bytes | None, Form | None] | None:
        """An entry's head, and the report as one of the two has it: bytes, or the form of the check before."""
        told = self.earlier.known.get(key) if self.earlier is not None else None
        if told is not None:
            return told[0], b"", None, told[1]
        found = self.cache.get(key)
        if found is None:
            return None
        head, small = marshal.loads(found[0])
        return head, small, found[1], None

    def take(self, report: Report | None, key: bytes | None, head: bytes, form: Form | None) -> None:
        """Tells the next check of the report."""
        if self.earlier is not None and report is not None and key is not None and head:
            self.earlier.take(report, key, head, form)

    def keep(self, node: ProjectNode, key: bytes, judged: JudgedNode) -> bytes:
        """Returns the entry's head."""
        trace = self._trace_lookups(judged.asked, node, listed=judged.listed)
        head = marshal.dumps((*trace, judged.state.to_list(), judged.state.digest))
        self.cache.put(key, marshal.dumps((head, judged.small)), judged.large)
        return head

    def digest(self, unique_id: str) -> str:
        """The digest of what a node left. Raises `Wanted` where it was not visited."""
        if unique_id not in self.digests:
            if unique_id not in self.states:
                raise Wanted(unique_id)
            self.digests[unique_id] = self.states[unique_id].digest
        return self.digests[unique_id]

    def _trace_lookups(self, asked: Any, node: ProjectNode, *, listed: Any) -> tuple[list[list[Any]], str]:
        """What each name that the text looked up stands for, and whether the text asked for the list of all names."""
        declared = {p.unique_id for p in self._parents[node.unique_id]} | {node.unique_id}
        answers: list[list[Any]] = []
        for parts in asked:
            found = self.check.resolve(parts)
            if isinstance(found, ProjectNode):
                if found.unique_id not in declared:
                    answers.append([list(parts), found.unique_id, self.digest(found.unique_id)])
            else:
                answers.append([list(parts), self._digest_known(found)])
        return answers, self._names if listed else ""

    def _digest_increments(self, node: ProjectNode) -> tuple[bytes, list[str]]:
        """What an incremental model's other text is made of, and what tells whose rows change."""
        project = self.check.project
        if not self._beside:
            texts = {key: str(m.get("macro_sql")) for key, m in project.macros.items() if isinstance(m, Mapping)}
            self._beside = digest_of((json.dumps([texts, project.tested_unique], sort_keys=True).encode(),))
        return self._beside, sorted(list_remade(project, node))

    def _digest_known(self, known: Any) -> str:
        # The freeze file's relations live as long as the check.
        if id(known) not in self._frozen:
            self._frozen[id(known)] = digest_of_known(known)
        return self._frozen[id(known)]
