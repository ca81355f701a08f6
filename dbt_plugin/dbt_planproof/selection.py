"""dbt's own selection over a manifest: its selector classes, its `--state`, its selectors.yml."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from planproof.project.compiler import Selection
from planproof.project.contracts import load_file
from planproof.project.reads import ProjectError, read_content
from planproof.project.target_folder import target_folder

MAY_BE_EMPTY = ("state", "result", "source_status")
"""Methods that ask what changed or happened. They may select nothing."""
_READ = ("dbt_project.yml", "dependencies.yml", "packages.yml", "profiles.yml", "selectors.yml")
"""What dbt reads of a project to select from its manifest."""


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
        _refuse_bombs(project_dir or Path())
        with _set_flags(project_dir):
            return _choose(manifest, project_dir, select, exclude, selector, state)
    except ProjectError:
        raise
    except Exception as error:  # What dbt raises over a file of others is not one class.
        said, lacks = " ".join(str(error).split()), state is None and "comparison manifest" in str(error)
        what = ": give --state FOLDER, where the manifest to compare with lies" if lacks else ""
        raise ProjectError(f"dbt's selection: {said}{what}") from error


def _refuse_bombs(home: Path) -> None:
    """dbt reads these files whole, whatever they are: a link to a device fills the memory, and aliases of aliases take
    for ever. Raises OSError and `ProjectError`."""
    for name in _READ:
        if (home / name).exists():
            read_content(home / name)
    if (home / "selectors.yml").exists():
        load_file(home / "selectors.yml")


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
            _refuse_unmatched(nodes, word, part)
    wanted = [_make_spec(word) for word in select] or [
        _find_selector(project_dir, selector) if selector else _make_spec("fqn:*")
    ]
    spec = SelectionDifference([SelectionUnion(wanted), SelectionUnion([_make_spec(word) for word in exclude])])
    asked = selector is not None or any(part.method in MAY_BE_EMPTY for _, criteria in parts for part in criteria)
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


def _find_selector(project_dir: Path | None, name: str) -> Any:
    from dbt.config.selectors import selector_config_from_data, selector_data_from_root

    if project_dir is None:
        raise ProjectError(f"--selector {name}: a manifest alone has no selectors.yml; give the project's directory")
    known = selector_config_from_data(selector_data_from_root(str(project_dir)) or {})
    if name not in known:
        raise ProjectError(f"--selector {name}: {project_dir}/selectors.yml defines: {', '.join(known) or 'none'}")
    return known[name]["definition"]


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
    """Within the block dbt's flags are those of the project; what compares states asks them."""
    from argparse import Namespace

    from dbt import flags
    from dbt.config.project import read_project_flags

    before = flags.get_flags()  # type: ignore[no-untyped-call]
    where = str(project_dir or Path())
    flags.set_from_args(Namespace(), read_project_flags(where, where))
    try:
        yield
    finally:
        flags.set_flags(before)  # type: ignore[no-untyped-call]
