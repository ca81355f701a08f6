"""Whether a test's `where` takes rows away and does nothing else."""

from __future__ import annotations

from planproof.session.protocol import Session, SparkFailure
from planproof.session.sources import live_catalog
from planproof_engine import plan
from planproof_engine.origin import AnalysisError, Unknown
from planproof_engine.plans import Filter, Named, Project, Scan, Subquery, may_raise


def is_filter(condition: str, relation: str, session: Session) -> bool:
    """Whether `SELECT * FROM relation WHERE condition` gives some of the relation's rows for all data, and never fails.

    `relation` is quoted, or stands for itself in FROM.
    """
    conf = session.conf
    try:
        found = plan(f"SELECT * FROM {relation} WHERE {condition}", live_catalog(session), conf=conf).root
    except (AnalysisError, Unknown, SparkFailure):
        return False
    if isinstance(found, Project):
        found = found.child
    if not isinstance(found, Filter) or found.condition.holds(Subquery) or may_raise(found.condition, conf):
        return False
    below = found.child
    return isinstance(below.child if isinstance(below, Named) else below, Scan)
