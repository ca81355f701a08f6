"""Which models a command is about: dbt's selection, of which a small, exact subset is read without dbt.

What the subset cannot say is dbt's to answer where dbt is installed, and refused by name elsewhere. A selector of the
subset is `[n+]what[+n]`; `what` is a name, a glob over the fully qualified name (`shop.staging.*`), or `method:value`
with one of `METHODS`. Blanks join selectors to a union, commas to an intersection, as in dbt.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from planproof.project.compiler import NOT_HANDED_IN
from planproof.project.contracts import load_own
from planproof.project.manifest import Project, ProjectNode
from planproof.project.nodes import guard_of
from planproof.project.reads import ProjectError, is_file, note_unrepeatable

_SHOWN = 5
_SELECTOR = re.compile(r"(?P<up>(?P<up_depth>\d{0,9})\+)?(?P<what>[^+]+?)(?P<down>\+(?P<down_depth>\d{0,9}))?")


def select_models(
    project: Project,
    select: Iterable[str] = (),
    exclude: Iterable[str] = (),
    selector: str | None = None,
    state: str | Path | None = None,
) -> tuple[ProjectNode, ...]:
    """The models that `select` names (all, where it is empty) and `exclude` does not, in DAG order.

    `selector` is a name of selectors.yml, `state` the folder of an older manifest.json. Where nothing is named, the
    default selector of selectors.yml counts, as in dbt. Raises `ProjectError` for a selector that cannot be read or
    that names nothing, and where no model is left; `state:`, `result:` and `source_status:` may find none, and a
    `selector` may.
    """
    return tuple(node for node in select_nodes(project, select, exclude, selector, state) if node.kind == "model")


def select_nodes(
    project: Project,
    select: Iterable[str] = (),
    exclude: Iterable[str] = (),
    selector: str | None = None,
    state: str | Path | None = None,
) -> tuple[ProjectNode, ...]:
    """As `select_models`, with the selected seeds, snapshots and sources; one model at least is among them."""
    wanted, unwanted = _split(select), _split(exclude)
    if selector is not None and wanted:
        raise ProjectError(f"--selector {selector} replaces --select; give only one of them")
    default = None if selector is not None or wanted or unwanted else read_default_selector(project.directory)
    asked, selector = False, selector or default
    if selector is not None or not all(map(_is_own, [*wanted, *unwanted])):
        ids, asked = _select_by_dbt(project, wanted, unwanted, selector, state)
    else:
        ids = set(project.nodes) if not wanted else _select_union(project, wanted)
        ids -= _select_union(project, unwanted) if unwanted else set()
    asked = asked or (selector is not None and default is None)
    found = tuple(node for node in project.nodes.values() if node.unique_id in ids)
    if not any(node.kind == "model" for node in found) and not asked and (wanted or project.models):
        chosen = f"{default!r}, the default selector of selectors.yml, selects no model; --select '*' names all"
        raise ProjectError(_describe_empty(project, wanted, unwanted, found) if default is None else chosen)
    return found


def split_guarded(
    nodes: Iterable[ProjectNode], overrides: Mapping[str, Any] | None = None
) -> tuple[tuple[ProjectNode, ...], tuple[ProjectNode, ...]]:
    """The nodes that planproof looks at, and those with `guard: off`. `overrides` are settings before the nodes' own.
    Raises `ProjectError` for another value of that setting."""
    every = tuple(nodes)
    off = {node.unique_id for node in every if guard_of(node.raw, overrides) == "off"}
    return tuple(n for n in every if n.unique_id not in off), tuple(n for n in every if n.unique_id in off)


def describe_left_to_dbt(off: Sequence[ProjectNode]) -> list[str]:
    """What a command says, once, of the nodes with `guard: off`."""
    return [f"left to dbt by `guard: off`: {', '.join(sorted(node.name for node in off))}"] if off else []


def split_compiled(models: Iterable[ProjectNode], asked: bool = True) -> tuple[list[ProjectNode], list[ProjectNode]]:
    """The models that can be judged, and those that dbt did not compile; ephemeral ones without a text are in neither.

    A build of a selection, one that skipped models, and a compile in which one failed leave texts for a part of the
    project. Raises `ProjectError` where one that was `asked` for by name is not compiled, and where none is: `dbt seed`
    and `dbt ls` write a manifest, too.
    """
    found = [node for node in models if node.sql is not None or node.materialized != "ephemeral"]
    left = [node for node in found if node.sql is None and not node.is_python]
    if left and (asked or len(left) == len(found)):
        # Where one model fails, `dbt compile` leaves no text of any.
        alone = "" if len(left) < len(found) else "; if it stops at a model, --exclude that one, and what reads it"
        raise ProjectError(f"not compiled: {_list_names(left)}; run `dbt compile` on the selected models{alone}")
    missing = {node.unique_id for node in left}
    return [node for node in found if node.unique_id not in missing], left


def remark_on(left: Sequence[ProjectNode]) -> list[str]:
    """What a check says, once, of the models that are not compiled."""
    if not left:
        return []
    what = "1 model is not compiled and was" if len(left) == 1 else f"{len(left)} models are not compiled and were"
    return [f"{what} not judged: {_list_names(left)}; run `dbt compile`, or `planproof check --compile`"]


def _list_names(nodes: Sequence[ProjectNode]) -> str:
    more = f" and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else ""
    return ", ".join(node.unique_id for node in nodes[:_SHOWN]) + more


def read_default_selector(directory: Path | None) -> str | None:
    """The selector of a project's selectors.yml with `default: true`, which dbt takes where nothing is selected.

    None without one. A file that cannot be read has none: only dbt says what is wrong with it.
    """
    file = directory / "selectors.yml" if directory is not None else None
    if file is None or not is_file(file):
        return None
    try:
        form = load_own(file)
    except ProjectError:
        return None
    listed = form.get("selectors") if isinstance(form, Mapping) else None
    for given in listed if isinstance(listed, list) else ():
        if isinstance(given, Mapping) and given.get("default") is True:
            return str(given.get("name"))
    return None


def _is_own(selector: str) -> bool:
    """Whether the subset reads the selector, or it is none that dbt would read."""
    if selector.startswith("@"):
        return False
    matches = [_SELECTOR.fullmatch(part) for part in selector.split(",")]
    methods = [match["what"].partition(":") for match in matches if match is not None]
    return all(not colon or method in METHODS for method, colon, _ in methods)


def _select_by_dbt(
    project: Project, select: Sequence[str], exclude: Sequence[str], selector: str | None, state: str | Path | None
) -> tuple[set[str], bool]:
    """What dbt selects, and whether nothing may be an answer. Raises `ProjectError`."""
    note_unrepeatable()
    said = [f"--selector {selector}"] if selector is not None else []
    said += [f"--state {state}"] if state is not None else []
    said += [word for word in (*select, *exclude) if not _is_own(word)]
    missing = NOT_HANDED_IN if project.compiler is None else project.compiler.missing()
    if project.compiler is None or missing is not None:
        raise ProjectError(
            f"{', '.join(said)}: only dbt can select this way, and it is not installed ({missing}); install "
            "planproof[dbt]. Without it: a name, a glob over the qualified name, "
            f"{', '.join(f'{known}:' for known in METHODS)} with `+` before and after, or the names that "
            "`dbt ls --output name` prints; --select '*' names all"
        )
    folder = Path(state) if state is not None else None
    found = project.compiler.select_nodes(project.manifest, project.directory, select, exclude, selector, folder)
    return set(found.unique_ids), found.may_be_empty


def _split(given: Iterable[str]) -> list[str]:
    return [part for text in ([given] if isinstance(given, str) else given) for part in text.split()]


def _select_union(project: Project, selectors: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for selector in selectors:
        parts = [_select_reached(project, part) for part in selector.split(",")]
        found |= set.intersection(*parts)
    return found


def _select_reached(project: Project, selector: str) -> set[str]:
    match = _SELECTOR.fullmatch(selector)
    if match is None:
        raise ProjectError(f"selector '{selector}' cannot be read; write a name, `+name`, `name+` or `method:value`")
    named = {node.unique_id for node in project.nodes.values() if _make_matcher(match["what"])(node)}
    if not named:
        raise ProjectError(_describe_unmatched(project, selector, match["what"]))
    reached = set(named)
    if match["up"]:
        reached |= project.ancestors(named, int(match["up_depth"]) if match["up_depth"] else None)
    if match["down"]:
        reached |= project.descendants(named, int(match["down_depth"]) if match["down_depth"] else None)
    return reached


def _make_matcher(what: str) -> Callable[[ProjectNode], bool]:
    method, colon, value = what.partition(":")
    if not colon:
        if "/" in what or "\\" in what or what.endswith((".sql", ".csv", ".py")):
            return lambda node: _is_at_path(node, what)
        return lambda node: _is_named(node, what)
    test = METHODS[method]
    return lambda node: test(node, value)


def _is_named(node: ProjectNode, value: str) -> bool:
    """By name, or by the qualified name with or without its project; a folder stands for what lies below it."""
    if node.kind == "source":
        return False
    if fnmatchcase(node.name, value):
        return True
    if node.raw.get("version") is not None and "_".join(node.fqn[-2:]) == "_".join(value.split(".")[-2:]):
        return True
    return any(_is_below(fqn, value.split(".")) for fqn in (node.fqn, node.fqn[1:]) if fqn)


def _is_below(fqn: tuple[str, ...], parts: list[str]) -> bool:
    for i, part in enumerate(parts):
        if any(c in part for c in "*?["):
            return fnmatchcase(".".join(fqn[i:]), ".".join(parts[i:]))
        if i >= len(fqn) or fqn[i] != part:
            return False
    return True


def _is_at_path(node: ProjectNode, value: str) -> bool:
    if node.file is None or node.kind == "source":
        return False
    wanted, file = _use_slashes(value).removeprefix("./").rstrip("/"), _use_slashes(node.file)
    name_only = "/" not in wanted and fnmatchcase(file.rpartition("/")[2], wanted)
    return name_only or fnmatchcase(file, wanted) or fnmatchcase(file, f"{wanted}/*")


def _use_slashes(path: str) -> str:
    """A path as all systems but Windows write it: a shell there completes with backslashes, and dbt keeps them."""
    return path.replace("\\", "/")


def _is_of_source(node: ProjectNode, value: str) -> bool:
    if node.kind != "source":
        return False
    source, _, table = value.rpartition(".") if "." in value else (value, "", "*")
    source = source.rpartition(".")[2]
    return fnmatchcase(str(node.raw.get("source_name") or ""), source) and fnmatchcase(node.name, table)


METHODS: dict[str, Callable[[ProjectNode, str], bool]] = {
    "fqn": _is_named,
    "tag": lambda node, value: any(fnmatchcase(tag, value) for tag in node.tags),
    "path": _is_at_path,
    "config.materialized": lambda node, value: fnmatchcase(node.materialized, value),
    "source": _is_of_source,
}


def _describe_unmatched(project: Project, selector: str, what: str) -> str:
    close = difflib.get_close_matches(what, [node.name for node in project.models], n=1)
    meant = f"; did you mean {close[0]!r}?" if close else f"; the project has {len(project.models)} models"
    return f"selector '{selector}': '{what}' names nothing in the project{meant}"


def _describe_empty(
    project: Project, wanted: Sequence[str], unwanted: Sequence[str], others: Sequence[ProjectNode] = ()
) -> str:
    said = f"--select {' '.join(wanted)}" if wanted else "no --select"
    said += f" --exclude {' '.join(unwanted)}" if unwanted else ""
    listed = ", ".join(f"the {node.kind} {node.name}" for node in others[:3])
    besides = f", but {listed}{' and others' if len(others) > 3 else ''}" if others else ""
    return f"{said} selects no model{besides}; the project has {len(project.models)} models"
