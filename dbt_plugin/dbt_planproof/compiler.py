"""dbt 1 as planproof's commands and operators hand it in. It is imported when it is asked, and not before."""

from __future__ import annotations

from dbt_planproof.invoke import compile_project
from dbt_planproof.selection import select_nodes
from planproof.project.compiler import Compiler


class _Dbt:
    compile_project = staticmethod(compile_project)
    select_nodes = staticmethod(select_nodes)

    def missing(self) -> str | None:
        try:
            import dbt.cli.main
            import dbt.graph.selector  # noqa: F401
        except ImportError as error:
            return str(error)
        return None


DBT: Compiler = _Dbt()
