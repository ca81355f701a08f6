"""`planproof lsp`: the language server, over standard input and output."""

from __future__ import annotations

import sys

import click
from click.core import ParameterSource

from planproof.cli import options
from planproof.project import Cache, ProjectError, ProjectLocation


@click.command(cls=options.Sectioned)
@options.location
@click.option("--dbt/--no-dbt", "compiles", default=True, help="Whether dbt compiles saved models. Default: yes.")
@options.cache
@click.option("--stdio", is_flag=True, hidden=True, help="What editors say; there is no other way.")
@click.pass_context
def lsp(ctx: click.Context, location: ProjectLocation, compiles: bool, cache: bool, stdio: bool) -> None:
    """Runs the language server, for an editor that speaks the Language Server Protocol.

    It speaks over standard input and output, and shows what `check` finds while a model is written: findings, types,
    where columns come from. Needs the manifest of `dbt compile` and planproof[lsp], no login and no warehouse. Without
    --project-dir it takes the editor's folder where that is a dbt project, else the one where it is started.
    """
    try:
        from planproof.lsp.server import bound_input, new_server
    except ImportError as error:
        raise ProjectError(f"the language server needs pygls ({error}): pip install 'planproof[lsp]'") from error
    from planproof.lsp.workspace import Workspace

    said = (ctx.get_parameter_source(name) for name in ("project_dir", "manifest"))
    anywhere = all(source is ParameterSource.DEFAULT for source in said)
    server = new_server(Workspace(location, Cache.of_user() if cache else None), compiles, anywhere)
    out = sys.stdout.buffer
    # Whatever prints would break the protocol.
    sys.stdout = sys.stderr
    server.start_io(bound_input(sys.stdin.buffer), out)
