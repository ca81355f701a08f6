"""`on_schema_change`: what a delta whose columns differ from the stored ones does to the table.

It is decided before the delta runs, and nothing is altered here: new columns are added by the publish, after the audit.
Spark adds top-level columns to a Parquet table and does nothing else to its schema (AlterTableAddColumnsCommand; a
dropped column, another type or a new nested field is refused).
"""

from __future__ import annotations

from dataclasses import dataclass

from planproof.contract import Model
from planproof.invariants.compare import type_differences
from planproof.publish.materialize.materialization import Job
from planproof.session import StoredTable
from planproof_engine import Finding, PhysicalField, PhysicalSchema, Verdict, by_name
from planproof_engine.types import drop_lengths, format_ddl, same_type

MODES = ("ignore", "fail", "append_new_columns", "sync_all_columns")


@dataclass(frozen=True, slots=True)
class Evolution:
    """How the delta's columns differ from the stored ones, and what `mode` makes of it."""

    mode: str
    stored: PhysicalSchema
    added: tuple[PhysicalField, ...]
    dropped: tuple[PhysicalField, ...]
    retyped: tuple[tuple[PhysicalField, PhysicalField], ...]
    adds: str
    """What can be done to the columns of a table of this format."""

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """What the table gets, as ADD COLUMNS takes it."""
        if self.mode not in ("append_new_columns", "sync_all_columns"):
            return ()
        return tuple((f.name, format_ddl(f.type)) for f in PhysicalSchema(self.added).as_nullable())

    @property
    def after(self) -> PhysicalSchema:
        """The table's columns once the publish is done."""
        return PhysicalSchema((*self.stored, *self.added)) if self.columns else self.stored

    @property
    def is_refused(self) -> bool:
        changes = [*self.dropped, *self.retyped]
        if self.mode == "fail":
            return bool(self.added or changes)
        return self.mode == "sync_all_columns" and bool(changes)

    def findings(self, job: Job) -> list[Finding]:
        found: list[Finding] = []
        if self.is_refused:
            found = [
                self._report_refused(job, f, "no such column", f.type.simple) for f in self.added if self.mode == "fail"
            ]
            found += [self._report_refused(job, f, f.type.simple, "no such column") for f in self.dropped]
            for old, new in self.retyped:
                for d in type_differences(old.type, new.type, (new.name,)):
                    path = PhysicalField(".".join(d.path), new.type, True)
                    found.append(self._report_refused(job, path, d.promised or "nothing", d.found or "nothing"))
        elif self.columns:
            found = [self._report_applied(job, f) for f in self.added]
        return found

    def _report_refused(self, job: Job, field: PhysicalField, promised: str, found: str) -> Finding:
        why = "on_schema_change is fail" if self.mode == "fail" else f"{self.adds}, no more"
        repair = f"{name_repair(job.model)}, or bring the SELECT back to the stored columns"
        message = (
            f"{job.model.name} stores {field.name} as {promised}, the model produces {found}; {why}. No schema change "
            f"was applied; {repair}"
        )
        if promised == "no such column":
            message = f"{job.model.name} has no column {field.name}; {why}. No schema change was applied; {repair}"
        origin = job.examined.locate(field.name)
        return Finding(Verdict.VIOLATED, "PP606", "catalog", field.name, promised, found, message, origin)

    def _report_applied(self, job: Job, field: PhysicalField) -> Finding:
        return Finding(
            Verdict.PROVED,
            "PP607",
            "catalog",
            field.name,
            "no such column",
            field.type.simple,
            f"{job.model.name} gets the column {field.name} {field.type.simple}, after the audit",
            job.examined.locate(field.name),
            evidence=f"on_schema_change: {self.mode}",
        )


def plan_evolution(model: Model, target: StoredTable, produced: PhysicalSchema, adds: str) -> Evolution:
    """Columns are compared without case, and types without nullability, as Spark stores them."""
    mode = str(model.options.get("on_schema_change") or "ignore")
    stored = by_name(target.schema.as_nullable())
    given = by_name(produced.as_nullable())
    return Evolution(
        mode if mode in MODES else "ignore",
        target.schema,
        tuple(f for name, f in given.items() if name not in stored),
        tuple(f for name, f in stored.items() if name not in given),
        tuple((stored[n], f) for n, f in given.items() if n in stored and _is_different(stored[n], f)),
        adds,
    )


def name_repair(model: Model) -> str:
    """How stored columns are changed. A snapshot, whose merge alone says which columns it `adds`, has no full
    refresh."""
    return "alter the table (ALTER TABLE)" if "adds" in model.options else "run with full_refresh"


def _is_different(stored: PhysicalField, produced: PhysicalField) -> bool:
    return not same_type(drop_lengths(stored.type), drop_lengths(produced.type))
