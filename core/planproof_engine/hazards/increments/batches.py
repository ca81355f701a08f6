"""PP140: a batch of a microbatch model replaces a partition that is longer than the batch."""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine.expr import nodes as x
from planproof_engine.hazards import filters
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.increments import units
from planproof_engine.hazards.suspicion import Suspicion, make_warning
from planproof_engine.logical import nodes as p


def suspect_batches(plan: p.Plan, event_time: str, batch: str, partition_by: tuple[str, ...]) -> Iterator[Suspicion]:
    """dbt-spark writes each batch by INSERT OVERWRITE of the partitions that it holds. `event_time` is the model's own
    column, `batch` the unit of its batches. Partitions of other columns are not judged: nobody can tell."""
    definitions, outputs = Definitions(plan), {c.name.lower(): c for c in plan.output}
    time = outputs.get(event_time.lower())
    columns = [definitions.of(filters.drop_casts(outputs[n.lower()])) for n in partition_by if n.lower() in outputs]
    found, parts = (
        [
            cut[0]
            for cut in map(find, columns)
            if cut is not None and time is not None and _is_of(definitions, cut[1], time)
        ]
        for find in (units.find_cut, units.find_part)
    )
    if len(parts) == len(partition_by) and set(parts) == set(units.PARTS[: len(parts)]):
        found = [units.PARTS[len(parts) - 1]]
    if found and not any(unit in units.WITHIN.get(batch, ()) for unit in found):
        names = ", ".join(partition_by)
        message = (
            f"each batch holds one {batch} of {event_time} and replaces a partition ({names}) of a whole {found[0]} by "
            "its rows; a full refresh would build another table"
        )
        yield Suspicion(make_warning("PP140", names, None, None, message))


def _is_of(definitions: Definitions, cut: x.Expr, time: x.Expr) -> bool:
    """Whether the time that is cut is the model's event time, or what that is cut of."""
    sources = [definitions.of(filters.drop_casts(one)) for one in (cut, time)]
    inner = units.find_cut(sources[1])
    ids = [one.id if isinstance(one, x.Column) else None for one in (*sources, *([inner[1]] if inner else []))]
    return ids[0] is not None and ids[0] in ids[1:]
