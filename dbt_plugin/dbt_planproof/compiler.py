"""dbt 1 inside this process, as planproof's commands and operators hand it in: to compile in the target, to hand over
the manifest, and to select by its own selector classes, its `--state` and its selectors.yml. It is imported when it is
asked, and not before.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from dbt_planproof.selectors import find_selector, list_parts, refuse_outside
from planproof.project import load_own
from planproof.project.compiler import Compiler, Selection
from planproof.project.profile import load_profiles
from planproof.project.reads import LARGEST, ProjectError
from planproof.project.target_folder import target_folder
from planproof.regular import read_regular
from planproof_engine import OverBudget, bounded

MAY_BE_EMPTY = ("state", "result", "source_status")
"""Methods that ask what changed or happened. They may select nothing."""
_READ: Mapping[str, Callable[[Path], Any]] = {
    **dict.fromkeys(("dbt_project.yml", "dependencies.yml", "packages.yml", "selectors.yml"), load_own),
    "profiles.yml": load_profiles,
}
"""What dbt reads of a project to select from its manifest, and how planproof reads it."""
_SECONDS, _BYTES = 120.0, 2**33
"""What a selection may cost: dbt's form of a manifest of ten thousand models takes a tenth of both."""


def select_nodes(
    manifest: Mapping[str, Any],
    project_dir: Path | None,
    select: Sequence[str],
    exclude: Sequence[str],
    selector: str | None = None,
    state: Path | None = None,
) -> Selection:
    """What dbt selects. `state` is the folder of another manifest.json (and run_results.json, sources.json).

    Raises `ProjectError` for what dbt cannot read, and for a selector that names nothing.
    """
    try:
        _refuse_unsound(project_dir or Path())
        with bounded(_SECONDS, _BYTES), _set_flags(project_dir):
            return _choose(manifest, project_dir, select, exclude, selector, state)
    except ProjectError:
        raise
    except OverBudget as over:
        raise ProjectError(f"dbt's selection takes more {over} than planproof spends; use --select NAME") from None
    except Exception as error:  # What dbt raises over a file of others is not one class.
        said, lacks = _describe_error(error), state is None and "comparison manifest" in str(error)
        what = ": give --state FOLDER, where the manifest to compare with lies" if lacks else ""
        raise ProjectError(f"dbt's selection: {said}{what}") from error


def _refuse_unsound(home: Path) -> None:
    """dbt reads these files whole, whatever they are and wherever a link leads: a device fills the memory, aliases of
    aliases take for ever, and of what is no YAML it quotes lines. Raises `ProjectError`."""
    for name, load in _READ.items():
        if (home / name).exists():
            load(home / name)


def _describe_error(error: Exception) -> str:
    """What dbt says. Of YAML that it cannot read it quotes lines: that is another file than planproof read."""
    import yaml

    if isinstance(error.__cause__ or error.__context__, yaml.YAMLError):
        return "a file of the project is no YAML any more"
    return " ".join(str(error).split())


def _choose(
    manifest: Mapping[str, Any],
    project_dir: Path | None,
    select: Sequence[str],
    exclude: Sequence[str],
    selector: str | None,
    state: Path | None,
) -> Selection:
    from dbt.compilation import Linker
    from dbt.graph.selector import NodeSelector
    from dbt.graph.selector_spec import SelectionDifference, SelectionUnion

    found = _load_manifest(manifest)
    nodes = NodeSelector(Linker().get_graph(found), found, _load_previous(state, project_dir))
    parts = [(word, _make_criteria(word)) for word in (*select, *exclude)]
    for word, criteria in parts:
        for part in criteria:
            refuse_outside(project_dir, f"selector {word!r}", part)
            _refuse_unmatched(nodes, word, part)
    named = find_selector(project_dir, selector) if selector else None
    given = [] if named is None else list(list_parts(named))
    for part in given:
        refuse_outside(project_dir, f"the selector {selector!r} of selectors.yml", part)
    wanted = [_make_spec(word) for word in select] or [_make_spec("fqn:*") if named is None else named]
    spec = SelectionDifference([SelectionUnion(wanted), SelectionUnion([_make_spec(word) for word in exclude])])
    given += [part for _, criteria in parts for part in criteria]
    asked = any(part.method in MAY_BE_EMPTY for part in given)
    return Selection(frozenset(nodes.select_nodes(spec, warn_on_no_nodes=False)[0]), asked)


def _make_spec(word: str) -> Any:
    from dbt.graph.selector_spec import SelectionIntersection

    return SelectionIntersection(_make_criteria(word))


def _make_criteria(word: str) -> list[Any]:
    from dbt.graph.selector_spec import SelectionCriteria

    return [SelectionCriteria.from_single_spec(part) for part in word.split(",")]


def _refuse_unmatched(nodes: Any, word: str, part: Any) -> None:
    found = nodes.select_included(set(nodes.graph.nodes()), part)
    if not found and part.method not in MAY_BE_EMPTY:
        raise ProjectError(f"selector {word!r}: {part.raw!r} names nothing in the project")


def _load_manifest(form: Mapping[str, Any]) -> Any:
    """dbt's own form of a manifest. dbt changes what it reads, so that it gets a copy."""
    from dbt.artifacts.schemas.manifest import WritableManifest
    from dbt.contracts.graph.manifest import Manifest

    version = (form.get("metadata") or {}).get("dbt_version")
    try:
        written = WritableManifest.upgrade_schema_version(copy.deepcopy(dict(form)))  # type: ignore[no-untyped-call]
        return Manifest.from_writable_manifest(written)
    except Exception as error:  # What it raises for fields that it does not know is not one class.
        said = str(error).partition("\n")[0][:120]
        raise ProjectError(
            f"the dbt that is installed here cannot read a manifest of dbt {version} to select from it "
            f"({type(error).__name__}: {said}); let the dbt that wrote it name the models: `dbt ls --output name`"
        ) from error


def _load_previous(state: Path | None, project_dir: Path | None) -> Any:
    from dbt.contracts.state import PreviousState

    if state is None:
        return None
    if not (state / "manifest.json").is_file():
        raise ProjectError(f"--state {state}: there is no manifest.json; give the folder of an older one")
    root = (project_dir or Path()).resolve()
    return PreviousState(state.resolve(), target_folder(root), root)


@contextmanager
def _set_flags(project_dir: Path | None) -> Iterator[None]:
    """Within the block dbt's flags are those of the project, as what compares states asks, and its paths begin at the
    project's folder."""
    from argparse import Namespace

    from dbt import flags
    from dbt.config.project import read_project_flags
    from dbt_common.events.contextvars import task_contextvars

    before = flags.get_flags()  # type: ignore[no-untyped-call]
    where = str(project_dir or Path())
    flags.set_from_args(Namespace(), read_project_flags(where, where))
    try:
        with task_contextvars(project_root=os.path.realpath(where)):
            yield
    finally:
        flags.set_flags(before)  # type: ignore[no-untyped-call]


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
