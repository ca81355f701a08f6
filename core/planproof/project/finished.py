"""A whole check as the cache keeps it for people: where nothing that it read changed, it is told again.

The manifest of a large project alone takes seconds to read; here its bytes, and those of the models' files, are only
compared.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planproof.conf import Conf
from planproof.project.cache import Cache, digest_of, maker
from planproof.project.reads import Reads
from planproof.report.model import Report
from planproof.report.packed import form_of, report_of


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
            project, remarks, forms = marshal.loads(found[1] or b"")
            return cls(project, tuple(remarks), tuple(map(report_of, forms)))
        except (ValueError, KeyError, TypeError, EOFError):
            return None

    def keep(self, cache: Cache, key: bytes, reads: Reads) -> None:
        if not reads.is_whole:
            return
        texts: dict[int, str] = {}
        forms = [_brief(report, texts) for report in self.reports]
        body = (self.project, list(self.remarks), forms)
        cache.put(key, marshal.dumps((reads.files, reads.later)), marshal.dumps(body))
        cache.close()


def key_of(parts: Sequence[object]) -> bytes:
    """The key of a check that is asked with these words, in this folder. There is one entry for each, which the next
    check that differs replaces."""
    return digest_of((maker(), b"finished", os.getcwd().encode(), *(repr(part).encode() for part in parts)))


def form_of_conf(conf: Conf) -> dict[str, object]:
    """The settings in JSON's types, in the same order each time."""
    return {**{name: getattr(conf, name) for name in conf.__dataclass_fields__}, "stated": sorted(conf.stated)}


def _brief(report: Report, texts: dict[int, str]) -> dict[str, Any]:
    """The report's form without its plan, and without its text where that is quoted nowhere."""
    quoted = any(finding.origin is not None and finding.origin.file is None for finding in report.findings)
    return {**form_of(report, texts), "sql": report.sql if quoted else None}
