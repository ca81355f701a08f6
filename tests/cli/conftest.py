"""What the tests of the command line share: the command line itself, and a compiled project in a folder."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from planproof.cli.group import cli


@pytest.fixture
def invoke():
    return lambda *args, **more: CliRunner().invoke(cli, [str(arg) for arg in args], **more)


@pytest.fixture
def project(tmp_path, dbt_manifest):
    """Writes a manifest into a project directory and returns the directory."""

    def write(*args, **kwargs):
        (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
        (tmp_path / "target").mkdir(exist_ok=True)
        (tmp_path / "target" / "manifest.json").write_text(json.dumps(dbt_manifest(*args, **kwargs)))
        return tmp_path

    return write
