"""What the tests of the offline check share."""

from __future__ import annotations

from dataclasses import replace

import pytest
from offline_reports import ORDERS

from planproof.project import read_project
from planproof.project.check import check_project


@pytest.fixture
def check(dbt_manifest):
    """Checks a project and returns its reports by the model's name."""

    def run(models, sources=ORDERS, seeds=None, select=(), conf=None, change=None, directory=None, **more):
        manifest = dbt_manifest(models, sources, seeds)
        if change is not None:
            change(manifest)
        project = replace(read_project(manifest), directory=directory)
        reports = check_project(project, select, (), conf, **more)
        return {report.details.name: report for report in reports}

    return run
