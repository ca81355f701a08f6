"""`view`: nothing is staged; the contract is judged on the plan, and on a count where it cannot tell."""

from __future__ import annotations

from planproof.publish.audit import audit_query
from planproof.publish.materialization import Job
from planproof.publish.names import Refused
from planproof.publish.publication import Publication, publication
from planproof.publish.strategies.view import statement_of
from planproof.publish.table import VERSIONED_ELSEWHERE
from planproof.schema import PhysicalSchema


class View:
    def begin(self, job: Job) -> Publication:
        target = job.target
        if target is not None and target.format in VERSIONED_ELSEWHERE:
            raise Refused(f"{job.model.name} exists as a {target.format} table; drop it before it becomes a view")
        if target is not None and target.kind == "temporary view":
            raise Refused(f"{job.model.name} is a temporary view of this session, which hides the view; drop it")
        return publication(job.session, job.names, target, "view", job.root, dict(job.model.options), job.home)

    def stage(self, job: Job, publication: Publication) -> str:
        statement = statement_of(publication.entry.target, job.model, job.examined.sql, job.target)
        publication.note("stage", statement=statement)
        return statement

    def audit(self, job: Job, publication: Publication) -> None:
        audit_query(job)

    def written(self, job: Job, publication: Publication) -> PhysicalSchema:
        return job.examined.promised
