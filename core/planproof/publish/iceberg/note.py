"""The note of one publish under way: what it writes, and where that lies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from planproof.publish.transaction.owner import Owner
from planproof.publish.transaction.well_typed import refuse_ill_typed

_FORM = 1
"""The version of a note's form. One that was written by a later planproof is not read."""


@dataclass(frozen=True, slots=True)
class Aside:
    """Rows of a quarantine table (quoted) that one run sets aside, and the files in which they were written."""

    table: str
    run: str
    folder: str | None = None
    others: tuple[str, ...] = ()

    @classmethod
    def of(cls, form: Mapping[str, Any] | None) -> Aside | None:
        if form is None:
            return None
        return cls(form["table"], form["run"], form["folder"], tuple(form["others"]))


@dataclass(frozen=True, slots=True)
class Note:
    """One publish under way. `folder` holds the data files that it writes and nothing else, None where the table puts
    them elsewhere; `others` are its manifests. `is_new`: there was no table yet; `location` is the table's.
    A table that takes a view's place is made as `staging` first, and the view steps aside to `away`. A publish by SQL
    alone has in their place a `branch`, and the `snapshot` that it wrote there."""

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
    aside: Aside | None = None
    branch: str | None = None
    snapshot: int | None = None
    form: int = _FORM

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Note:
        """Raises ValueError where the text is no note."""
        try:
            form: Mapping[str, Any] = json.loads(text)
            if form.get("form", _FORM) != _FORM:
                raise ValueError(f"a note of the form {form['form']!r}, which this planproof does not know")
            known = {f.name: form[f.name] for f in fields(cls) if f.name in form}
            known["owner"], known["others"] = Owner.read(known["owner"]), tuple(known.get("others", ()))
            note = cls(**{**known, "aside": Aside.of(known.get("aside"))})
            refuse_ill_typed(note)
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"not a note: {error!r}") from error
        return note
