"""A finished check in the cache. Where no file that it read has changed, its reports are given again.

To parse the manifest of a large project takes seconds. Here the bytes of the manifest and of the models' files are only
compared.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from planproof.project.cache import Cache, CacheEntry, code_digest, digest_of
from planproof.project.reads import Reads
from planproof.report import Report
from planproof.report.packed import form_of, report_of
from planproof_engine import Conf, record

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
