"""A model's judgement in the cache: what it depends on, and whether that has changed.

A finished check in the cache. Where no file that it read has changed, its reports are given again.

To parse the manifest of a large project takes seconds. Here the bytes of the manifest and of the models' files are only
compared.
"""

from __future__ import annotations

import json
import marshal
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planproof.project.cache import Cache, CacheEntry, code_digest, digest_of
from planproof.project.compiled import template_of
from planproof.project.manifest import ProjectNode
from planproof.project.offline import OfflineCheck
from planproof.project.reads import Reads
from planproof.project.state import State, Visit, Wanted, digest, digest_of_known
from planproof.report.model import Report, form_of, pack, report_of, unpack
from planproof_engine.conf import Conf
from planproof_engine.records import record

Form = dict[str, Any]
"""A report as `report_of` reads it."""


@dataclass(slots=True)
class Earlier:
    """What the check before said of each model, for one that differs from it, and what this one takes over.

    `known`: by the key of the cache's entry, the entry's head and the report's form. `taken`: by the identity of a
    report of this check, the report, its key and head, and the form where it is that of the check before.
    """

    known: dict[bytes, tuple[bytes, Form]] = field(default_factory=dict)
    taken: dict[int, tuple[Report, bytes, bytes, Form | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, cache: Cache, key: bytes, finished: CacheEntry | None) -> Earlier:
        """What the entry of a finished check tells, whatever its files hold now."""
        beside = cache.get(_heads_key(key))
        if finished is None or beside is None:
            return cls()
        try:
            body = finished[1] or b""
            forms, heads = marshal.loads(body)[2], marshal.loads(beside[1] or b"")
            whole = beside[0] == digest_of([body])  # Two checks may have written at the same time.
            return cls({head[0]: (head[1], form) for head, form in zip(heads, forms) if head and whole})
        except (ValueError, KeyError, TypeError, EOFError):
            return cls()

    def take(self, report: Report, key: bytes, head: bytes, form: Form | None = None) -> None:
        self.taken[id(report)] = report, key, head, form

    def find_entry(self, report: Report) -> tuple[tuple[bytes, bytes] | None, Form | None]:
        """The key and head of the report's entry, and its form; None where they are not known. A report that tells
        where a promise stands is another one than its entry's."""
        found = self.taken.get(id(report))
        return ((found[1], found[2]), found[3]) if found is not None and found[0] is report else (None, None)


@record(frozen=True, slots=True)
class Finished:
    """A check's project, remarks and reports; the reports are without plans, and without the text of healthy models."""

    project: str
    remarks: tuple[str, ...]
    reports: tuple[Report, ...]

    @classmethod
    def of(cls, found: CacheEntry | None) -> Finished | None:
        """What the entry tells, if all files that were read for it are what they were."""
        if found is None:
            return None
        try:
            if not Reads(*marshal.loads(found[0])).hold():
                return None
            project, remarks, forms = marshal.loads(found[1] or b"")
            forms.reverse()
            # Each form goes as its report comes: together they take as much memory again.
            reports = tuple(report_of(forms.pop()) for _ in range(len(forms)))
            return cls(project, tuple(remarks), reports)
        except (ValueError, KeyError, TypeError, EOFError):
            return None

    def keep(self, cache: Cache, key: bytes, reads: Reads, earlier: Earlier) -> None:
        if not reads.is_whole:
            return
        texts: dict[int, str] = {}
        heads, forms = [], []
        for report in self.reports:
            head, form = earlier.find_entry(report)
            heads.append(head)
            forms.append(form if form is not None else _brief_form(report, texts))
        body = marshal.dumps((self.project, list(self.remarks), forms))
        cache.put(key, marshal.dumps((reads.files, reads.later, reads.folders)), body)
        cache.put(_heads_key(key), digest_of([body]), marshal.dumps(heads))
        cache.close()


def key_of(parts: Sequence[object]) -> bytes:
    """The key of a check that is asked with these words, in this folder. There is one entry for each, which the next
    check that differs replaces."""
    return digest_of((code_digest(), b"finished", os.fsencode(os.getcwd()), *(repr(part).encode() for part in parts)))


def _heads_key(key: bytes) -> bytes:
    """Where the keys of the reports' entries are kept, which a check without a change does not read."""
    return digest_of((key, b"heads"))


def form_of_conf(conf: Conf) -> dict[str, object]:
    """The settings in JSON's types, in the same order each time."""
    return {**{name: getattr(conf, name) for name in conf.__dataclass_fields__}, "stated": sorted(conf.stated)}


def _brief_form(report: Report, texts: dict[int, str]) -> Form:
    """The report's form without its plan, and without its text where that is quoted nowhere."""
    quoted = any(finding.origin is not None and finding.origin.file is None for finding in report.findings)
    return {**form_of(report, texts), "sql": report.sql if quoted else None}


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
            beside = marshal.dumps((files, parents, self._digest_known(own)), 2)
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

    def _digest_known(self, known: Any) -> str:
        # The freeze file's relations live as long as the check.
        if id(known) not in self._frozen:
            self._frozen[id(known)] = digest_of_known(known)
        return self._frozen[id(known)]
