"""The note of one publish under way: what it writes, and where that lies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from planproof.publish.transaction.owner import Owner
from planproof.publish.transaction.states import STATES

_FORM = 2
"""The version of a note's form. Another version of planproof settles what another form says."""


@dataclass(frozen=True, slots=True)
class QuarantinedFiles:
    """The files in which one run has written its bad rows, in a quarantine table (quoted)."""

    table: str
    run: str
    folder: str | None = None
    others: tuple[str, ...] = ()

    @classmethod
    def of(cls, form: Mapping[str, Any] | None) -> QuarantinedFiles | None:
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
    quarantine: QuarantinedFiles | None = None
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
            if form.get("form") != _FORM:
                raise ValueError(f"a note of the form {form.get('form', 1)!r}, which this planproof does not know")
            known = {f.name: form[f.name] for f in fields(cls) if f.name in form}
            known["owner"], known["others"] = Owner.read(known["owner"]), tuple(known.get("others", ()))
            note = cls(**{**known, "quarantine": QuarantinedFiles.of(known.get("quarantine"))})
            _refuse_ill_typed(note)
            if note.step not in STATES:
                raise ValueError(f"it names no step of this planproof: {note.step!r}")
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"not a note: {error!r}") from error
        return note


_TYPES = {"is_new": bool, "snapshot": int, "form": int, "others": tuple, "owner": Owner, "quarantine": QuarantinedFiles}
_MAY_LACK = ("folder", "staging", "away", "quarantine", "branch", "snapshot")


def _refuse_ill_typed(note: Note | QuarantinedFiles) -> None:
    """Raises TypeError for what no note holds."""
    for one in fields(note):
        value = getattr(note, one.name)
        if value is None and one.name in _MAY_LACK:
            continue
        if not isinstance(value, _TYPES.get(one.name, str)):
            raise TypeError(f"{one.name} is {value!r}")
        if isinstance(value, QuarantinedFiles):
            _refuse_ill_typed(value)
        if isinstance(value, tuple) and not all(isinstance(part, str) for part in value):
            raise TypeError(f"{one.name} holds {value!r}")
