"""The selectors of a project's selectors.yml and of a command's words, before dbt follows them: a few lines may stand
for a million selectors, and a path lead out of the project."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from planproof.project import load_own
from planproof.project.reads import ProjectError, is_within
from planproof.regular import checkout_of

MOST_PARTS = 10_000
"""Methods of one selector, those of the selectors that it refers to counted wherever it does: dbt asks each anew."""


def find_selector(project_dir: Path | None, name: str) -> Any:
    """dbt's form of a selector of selectors.yml. Raises `ProjectError`."""
    from dbt.config.selectors import selector_config_from_data

    if project_dir is None:
        raise ProjectError(f"--selector {name}: a manifest alone has no selectors.yml; give the project's directory")
    file = project_dir / "selectors.yml"
    form = load_own(file) if file.exists() else None
    _refuse_growth(form, file)
    known = selector_config_from_data(form or {})
    if name not in known:
        raise ProjectError(f"--selector {name}: {file} defines: {', '.join(known) or 'none'}")
    return known[name]["definition"]


def list_parts(spec: Any) -> Iterator[Any]:
    """The methods that a selector of dbt's is made of."""
    if hasattr(spec, "method"):
        yield spec
        return
    for component in spec.components:
        yield from list_parts(component)


def refuse_outside(project_dir: Path | None, said: str, part: Any) -> None:
    """Raises `ProjectError` for a method of paths that leads out of the project: dbt looks for files there."""
    if part.method != "path":
        return
    names = PurePath(str(part.value)).parts
    first = next((i for i, name in enumerate(names) if set(name) & set("*?[")), len(names))
    root = Path(os.path.realpath(project_dir or Path()))
    home = os.path.realpath(checkout_of(root / "dbt_project.yml") or root)
    if ".." in names or not is_within(os.path.realpath(root.joinpath(*names[:first])), home):
        raise ProjectError(
            f"{said}: the path {str(part.value)!r} leads outside of the project; write one from the project's folder "
            "on, without `..`"
        )


def _refuse_growth(form: Any, file: Path) -> None:
    listed = form.get("selectors") if isinstance(form, Mapping) else None
    known: dict[str, int] = {}
    for given in listed if isinstance(listed, list) else ():
        if not isinstance(given, Mapping):
            continue  # dbt says what is wrong with it.
        name = str(given.get("name"))
        where = f"{file}: the selector {name!r}"
        # Two may have one name: what refers to it means the one before.
        known[name] = _count_parts(given.get("definition"), known, where)
        if known[name] > MOST_PARTS:
            raise ProjectError(
                f"{where} is made of more than {MOST_PARTS:,} parts, those of the selectors that it refers to counted "
                "wherever it does; refer to each once"
            )


def _count_parts(definition: Any, known: Mapping[str, int], where: str) -> int:
    if isinstance(definition, list):
        return sum(_count_parts(part, known, where) for part in definition)
    if not isinstance(definition, Mapping):
        return 1
    found = sum(_count_parts(part, known, where) for part in definition.values() if isinstance(part, (list, Mapping)))
    if definition.get("method") == "selector":
        name = str(definition.get("value"))
        if name not in known:
            raise ProjectError(f"{where} refers to {name!r}, which is no selector that is defined before it")
        found += known[name]
    return max(1, found)
