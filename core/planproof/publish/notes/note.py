"""The note of one publish under way: what it writes, and where that lies."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from planproof.publish.transaction import STATES, Names, Owner
from planproof.publish.transaction.forms import read_form

_FORM = 2
"""The version of a note's form. Another version of planproof settles what another form says."""


@dataclass(frozen=True, slots=True)
class QuarantinedFiles:
    """The files in which one run has written its bad rows, in a quarantine table (quoted). `base` is the version of its
    Delta log that they were staged on."""

    table: str
    run: str
    folder: str | None = None
    others: tuple[str, ...] = ()
    base: int | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """One publish under way. `folder` holds the data files that it writes and nothing else, None where the table puts
    them elsewhere; `others` are its manifests. `is_new`: there was no table yet; `location` is the table's.
    A table that takes a view's place is made as `staging` first, and the view steps aside to `away`. A publish by SQL
    alone has in their place a `branch`, and the `snapshot` that it wrote there. `base` is the version of a Delta log
    that the publish began on, -1 for none. `created` tells an Iceberg table from any other one that ever had its
    name."""

    model: str
    target: str
    slug: str
    strategy: str
    owner: Owner
    is_new: bool
    location: str
    folder: str | None = None
    others: tuple[str, ...] = ()
    staging: str | None = None
    away: str | None = None
    step: str = "begin"
    quarantine: QuarantinedFiles | None = None
    branch: str | None = None
    snapshot: int | None = None
    format: str = "iceberg"
    base: int | None = None
    created: str | None = None
    form: int = _FORM

    @classmethod
    def begin(cls, names: Names, model: str, strategy: str, location: str, is_new: bool) -> Note:
        """Of a publish that begins here, and has written nothing yet."""
        return cls(model, names.target.quoted, names.slug, strategy, Owner.here(names.stamp), is_new, location)

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Note:
        """Raises ValueError where the text is no note."""
        note = read_form(cls, text, _FORM)
        if note.step not in STATES:
            raise ValueError(f"it names no step of this planproof: {note.step!r}")
        return note
