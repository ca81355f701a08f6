"""The names of a publish: what is staged, what is moved aside, and where files lie."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planproof.publish.transaction.states import Stopped
from planproof.session import Session
from planproof.session.described import RAW_LITERALS
from planproof_engine import SESSION_CATALOG, RelationName

PREFIX = "__planproof"
"""Begins the name of everything that a publish creates in a database; no user's table should begin so."""
FOUND = "_found"
"""Ends the name of a folder of files of others, which stand beside a table."""
STATE = ".planproof"
"""The folder of journal and locks in a database's location; Spark does not see names that begin with a dot."""

MARK = r"[0-9a-f]{8}(?:[0-9a-f]{8})?"
"""Earlier versions of planproof gave eight digits."""
_MARK = re.compile(MARK)
_PLAIN = re.compile(r"[a-z0-9_]{1,80}")


class Refused(Stopped):
    """The target cannot be replaced safely; the message says why and what to do."""

    def __init__(self, message: str, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


def refuse_unspeakable(session: Session, texts: Iterable[str | None], what: str) -> None:
    """Raises `Refused` for a text that `literal` does not spell in this session: with this setting, Spark takes the
    backslash that stands before a backslash, a quote or a dollar sign for a part of the text."""
    is_plain = not any(mark in text for text in texts if text for mark in ("\\", "'", "${"))
    if not is_plain and str(session.rows(f"SET {RAW_LITERALS}")[0][1]).lower() == "true":
        raise Refused(f"{what} holds a backslash, a quote or `${{`: set {RAW_LITERALS} to false")


def make_slug(table: str) -> str:
    """A table's name as one file name, and as part of another table's name; odd names get a digest.

    >>> make_slug("Orders"), make_slug("a b")
    ('orders', 'a_b_c8687a08')
    """
    lowered = table.lower()
    if _PLAIN.fullmatch(lowered):
        return lowered
    digest = hashlib.sha256(lowered.encode("utf-8")).hexdigest()[:8]
    return f"{re.sub('[^a-z0-9_]', '_', lowered)[:70]}_{digest}"


def join(location: str, *names: str) -> str:
    """A location below another one."""
    return "/".join([location.rstrip("/"), *names])


def parent(location: str) -> str:
    """The folder that a location lies in."""
    return location.rstrip("/").rpartition("/")[0]


def is_within(location: str, root: str) -> bool:
    """True where `location` is `root` or lies below it, whatever way `file:` is spelt."""
    inner, outer = _normalize_scheme(location), _normalize_scheme(root)
    return inner == outer or inner.startswith(outer + "/")


def list_empty_of(locations: Iterable[str], roots: Iterable[str]) -> list[str]:
    """Those of `roots` in which none of the locations lies, by `is_within`. Each is looked at once: a table may have
    thousands of partitions, and a publish may replace them all.

    >>> list_empty_of(["file:/lake/t/d=1/a"], ["/lake/t/d=1", "/lake/t/d=10", "/lake/t"])
    ['/lake/t/d=10']
    """
    around: set[str] = set()
    for location in locations:
        place = _normalize_scheme(location)
        while place not in around:
            around.add(place)
            place = place.rpartition("/")[0]
    return [root for root in roots if _normalize_scheme(root) not in around]


def is_same_place(one: str, other: str) -> bool:
    """True for two spellings of one location."""
    return is_within(one, other) and is_within(other, one)


def path_below(location: str, root: str) -> str:
    """The path of a location from `root` on, in which it lies.

    >>> path_below("file:/lake/t/d=1/a", "/lake/t")
    'd=1/a'
    """
    return _normalize_scheme(location)[len(_normalize_scheme(root)) :].strip("/")


def _normalize_scheme(location: str) -> str:
    return re.sub("^file:/+", "/", location).rstrip("/")


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one try of one run at publishing a target, all in the target's database."""

    target: RelationName
    run: str
    attempt: int

    @classmethod
    def of(cls, name: str, namespace: Sequence[str], run: str, attempt: int) -> Names:
        """`namespace` (catalog, database) completes a name of one part. The session catalog is not written: some of
        its statements take two parts only. Raises `Refused` for another catalog."""
        target = RelationName.parse(name).within(namespace)
        if len(target.parts) != 2:
            catalog = target.parts[0]
            raise Refused(f"{name} is in the catalog {catalog}; planproof publishes to Spark's own, {SESSION_CATALOG}")
        if namespace[0].lower() != SESSION_CATALOG:
            raise Refused(
                f"{name}: the session's current catalog is {namespace[0]}, where a name of two parts is another "
                "relation; run USE spark_catalog first"
            )
        if not target.last.strip(".") or "/" in target.last or any("\0" in part for part in target.parts):
            raise Refused(f"{name!r}: a relation's name becomes a folder's; give it one without `/`")
        return cls.complete(target, run, attempt)

    @classmethod
    def complete(cls, target: RelationName, run: str, attempt: int) -> Names:
        """Of a name that says its catalog, whichever that is. Raises `Refused`."""
        if any("${" in part for part in target.parts):
            raise Refused(f"{target}: Spark puts a variable's value in the place of `${{...}}`, in names too")
        return cls(target, run, attempt)

    @property
    def stamp(self) -> str:
        return f"{self.run}_{self.attempt}"

    @property
    def slug(self) -> str:
        return make_slug(self.target.last)

    @property
    def full_slug(self) -> str:
        """The table's name with its database's: tables of several databases may share a `location_root`."""
        return ".".join(make_slug(part) for part in self.target.parts)

    @property
    def staging(self) -> RelationName:
        return self.target.sibling(f"{PREFIX}_{self.slug}_{self.stamp}")

    @property
    def away(self) -> RelationName:
        """Where the old relation waits while the new one takes its name."""
        return self.target.sibling(f"{PREFIX}_{self.slug}_{self.stamp}_old")


def quarantine_of(target: RelationName) -> RelationName:
    """The table that takes a target's bad rows."""
    return target.sibling(f"{target.last}__quarantine")


def make_version(
    folder: str, current: str | None, names: Names, root: str, identity: Sequence[str | None] = (None,)
) -> str:
    """A new version directory in a table's folder, with the table's own mark: the one that its current version has.

    Old versions are swept by that mark, so that a table of the same name in another metastore loses none. A table that
    lies in no version gets its mark from its `identity`, so that what a killed publish leaves is its own, too:
    metastore and table; where some of it is None, nobody knows it. `root` is where the publish is noted.
    """
    own = mark_of(current) if current is not None and is_within(current, folder) else None
    if own is None and None not in identity:
        own = _bind(hashlib.sha256("\n".join(map(str, identity)).encode()).hexdigest()[:8], root, names.target)
    return join(folder, f"{own or _bind(uuid.uuid4().hex[:8], root, names.target)}.{names.stamp}")


def _bind(mark: str, root: str, target: RelationName) -> str:
    said = "\n".join((mark, _normalize_scheme(root), *target.key[-2:]))
    return mark + hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def is_bound(mark: str, root: str, target: RelationName) -> bool:
    """Whether a mark was given to that table by a publish that is noted at `root`: a note elsewhere cannot say
    so of it."""
    return mark == _bind(mark[:8], root, target)


def mark_of(version: str) -> str | None:
    """The mark of the table that a version directory belongs to.

    >>> mark_of("/lake/__planproof/orders/0a1b2c3d.run_1"), mark_of("/lake/orders")
    ('0a1b2c3d', None)
    """
    mark, dot, _ = version.rstrip("/").rpartition("/")[2].partition(".")
    return mark if dot and _MARK.fullmatch(mark) else None


def versions_folder(data_root: str, folder: str) -> str:
    """The folder of a table's version directories; no other table may have it, as old versions are deleted there."""
    return join(data_root, PREFIX, folder)
