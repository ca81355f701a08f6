"""dbt inside this process, for planproof's own executor: compile in the target, hand over the manifest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from planproof.project.reads import LARGEST, ProjectError
from planproof.regular import read_regular

_TRIES = 3


class CompileFailed(ProjectError):
    """`dbt compile` did not succeed; the message is dbt's."""


def compile_project(
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
    """The manifest after `dbt compile` against the profile's target, with the selected nodes' `compiled_code`.

    dbt writes into `target_path`, below the project, in place of its own target folder. Where dbt
    compiled a part only, `failed` is told why, and the manifest holds the texts of that part; without `failed` that is
    a failure. With dbt-spark's session method the SparkSession that dbt used goes on running, under the profile's
    settings. Raises `CompileFailed`, and KeyboardInterrupt where that stopped dbt. dbt keeps its state in globals: one
    call at a time.
    """
    args = ["compile", "--log-level", "none", "--project-dir", str(project_dir)]
    args += ["--profiles-dir", str(profiles_dir)] if profiles_dir else []
    args += ["--target", target] if target else []
    args += ["--vars", json.dumps(dict(vars))] if vars else []
    args += ["--full-refresh"] if full_refresh else []
    args += ["--target-path", target_path] if target_path else []
    args += ["--selector", selector] if selector else []
    args += ["--state", str(state)] if state else []
    args += [word for name in select for word in ("--select", name)]
    args += [word for name in exclude for word in ("--exclude", name)]
    for _ in range(_TRIES):
        manifest = read_own_manifest(*_compile(args, failed))
        if manifest is not None:
            return manifest
    raise CompileFailed(
        "other dbt commands write into the same target directory at the same time; give each its own by DBT_TARGET_PATH"
    )


def read_own_manifest(invocation: str, written: bytes) -> dict[str, Any] | None:
    """The manifest, where it is the one that this invocation of dbt wrote; None for another's, and for half of one."""
    try:
        manifest: dict[str, Any] = json.loads(written)
    except ValueError:
        return None
    return manifest if manifest["metadata"]["invocation_id"] == invocation else None


def _compile(args: list[str], failed: Callable[[str], None] | None) -> tuple[str, bytes]:
    """dbt's invocation id, and what stood in manifest.json as soon as dbt had written it."""
    from dbt.cli.main import dbtRunner

    written: list[tuple[str, bytes]] = []

    def note(event: Any) -> None:
        if event.info.name == "ArtifactWritten" and event.data.artifact_type == "WritableManifest":
            written.append((event.info.invocation_id, read_regular(event.data.artifact_path, LARGEST)))

    with _go_on_after_errors() if failed is not None else nullcontext():
        result = dbtRunner(callbacks=[note]).invoke(args)
    if isinstance(result.exception, KeyboardInterrupt):
        raise KeyboardInterrupt
    if not result.success:
        if failed is None or result.exception is not None or not written:
            raise CompileFailed(_describe_failure(result))
        failed(_describe_failure(result))
    if not written:
        raise CompileFailed("dbt compile wrote no manifest.json; is `write_json: false` set in the project's flags?")
    return written[-1]


@contextmanager
def _go_on_after_errors() -> Iterator[None]:
    """dbt compiles the others where it cannot compile one, as its builds do; `dbt compile` stops at the first."""
    from dbt.task.compile import CompileTask

    name = "raise_on_first_error"
    own = getattr(CompileTask, name)
    setattr(CompileTask, name, lambda self: False)
    try:
        yield
    finally:
        setattr(CompileTask, name, own)


def _describe_failure(result: Any) -> str:
    if result.exception is not None:
        return str(result.exception)
    failed = [
        f"{r.node.unique_id}: {r.message}"
        for r in getattr(result.result, "results", ())
        if str(r.status) in ("error", "fail", "runtime error")
    ]
    return "\n".join(failed) or "dbt compile failed without saying why; see dbt's log"
