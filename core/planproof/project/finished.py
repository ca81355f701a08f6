"""A finished check in the cache. Where no file that it read has changed, its reports are given again.

Parsing the manifest of a large project takes seconds. Here its bytes, and those of the models' files, are only
compared.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from planproof.conf import Conf
from planproof.project.cache import Cache, digest_of, maker
from planproof.project.reads import Reads
from planproof.report.model import Report
from planproof.report.packed import form_of, report_of

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
    def find(cls, cache: Cache, key: bytes) -> Earlier:
        """What was kept under the key, whatever its files hold now."""
        found = cache.get(key)
        if found is None:
            return cls()
        try:
            body, heads = marshal.loads(found[1] or b"")
            forms = marshal.loads(body)[2]
            return cls({head[0]: (head[1], form) for head, form in zip(marshal.loads(heads), forms) if head})
        except (ValueError, KeyError, TypeError, EOFError):
            return cls()

    def take(self, report: Report, key: bytes, head: bytes, form: Form | None = None) -> None:
        self.taken[id(report)] = report, key, head, form

    def of(self, report: Report) -> tuple[tuple[bytes, bytes] | None, Form | None]:
        """The key and head of the report's entry, and its form; None where they are not known. A report that tells
        where a promise stands is another one than its entry's."""
        found = self.taken.get(id(report))
        return ((found[1], found[2]), found[3]) if found is not None and found[0] is report else (None, None)


@dataclass(frozen=True, slots=True)
class Finished:
    """A check's project, remarks and reports; the reports are without plans, and without the text of healthy models."""

    project: str
    remarks: tuple[str, ...]
    reports: tuple[Report, ...]

    @classmethod
    def find(cls, cache: Cache, key: bytes) -> Finished | None:
        """What was kept under the key, if all files that were read for it are what they were."""
        found = cache.get(key)
        if found is None:
            return None
        try:
            files, later = marshal.loads(found[0])
            if not Reads(files, later).hold():
                return None
            project, remarks, forms = marshal.loads(marshal.loads(found[1] or b"")[0])
            return cls(project, tuple(remarks), tuple(map(report_of, forms)))
        except (ValueError, KeyError, TypeError, EOFError):
            return None

    def keep(self, cache: Cache, key: bytes, reads: Reads, earlier: Earlier) -> None:
        if not reads.is_whole:
            return
        texts: dict[int, str] = {}
        heads, forms = [], []
        for report in self.reports:
            head, form = earlier.of(report)
            heads.append(head)
            forms.append(form if form is not None else _brief(report, texts))
        body = marshal.dumps((self.project, list(self.remarks), forms))
        cache.put(key, marshal.dumps((reads.files, reads.later)), marshal.dumps((body, marshal.dumps(heads))))
        cache.close()


def key_of(parts: Sequence[object]) -> bytes:
    """The key of a check that is asked with these words, in this folder. There is one entry for each, which the next
    check that differs replaces."""
    return digest_of((maker(), b"finished", os.getcwd().encode(), *(repr(part).encode() for part in parts)))


def form_of_conf(conf: Conf) -> dict[str, object]:
    """The settings in JSON's types, in the same order each time."""
    return {**{name: getattr(conf, name) for name in conf.__dataclass_fields__}, "stated": sorted(conf.stated)}


def _brief(report: Report, texts: dict[int, str]) -> Form:
    """The report's form without its plan, and without its text where that is quoted nowhere."""
    quoted = any(finding.origin is not None and finding.origin.file is None for finding in report.findings)
    return {**form_of(report, texts), "sql": report.sql if quoted else None}
