"""What planproof asks of dbt: to compile a project, and to select from it as only dbt can.

A door that knows dbt hands a `Compiler` in; a project without one is read as it was compiled last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from planproof_engine import record

NOT_HANDED_IN = "no dbt was handed in"


@record(frozen=True, slots=True)
class Selection:
    """The unique ids that dbt selected. It `may_be_empty` where a method decided that asks what changed or happened."""

    unique_ids: frozenset[str]
    may_be_empty: bool


class Compiler(Protocol):
    """dbt in this process. It keeps its state in globals: one call at a time."""

    def missing(self) -> str | None:
        """Why dbt cannot be asked here, None where it can."""

    def compile_project(
        self,
        project_dir: str | Path,
        profiles_dir: str | Path | None = None,
        target: str | None = None,
        select: Iterable[str] = (),
        exclude: Iterable[str] = (),
        vars: Mapping[str, Any] | None = None,
        full_refresh: bool = False,
        target_path: str | None = None,
        selector: str | None = None,
        state: str | Path | None = None,
        failed: Callable[[str], None] | None = None,
    ) -> dict[str, Any]:
        """The manifest after `dbt compile` in the profile's target, with the selected nodes' `compiled_code`.

        Where dbt compiled a part only, `failed` is told why; without it that is an error. Raises `ProjectError`.
        """

    def select_nodes(
        self,
        manifest: Mapping[str, Any],
        project_dir: Path | None,
        select: Sequence[str],
        exclude: Sequence[str],
        selector: str | None = None,
        state: Path | None = None,
    ) -> Selection:
        """What dbt selects; `state` is the folder of an older manifest.json. Raises `ProjectError` for what dbt cannot
        read, and for a selector that names nothing."""
