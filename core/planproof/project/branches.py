"""Which branch of `is_incremental()` a compiled text holds, told from the text itself.

An incremental model compiles to all of its rows before its table exists, and to only the new ones after that. With the
table there, a text of the first kind would add every row again. Without the table, one of the second kind cannot run.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Container, Iterator, Mapping
from itertools import chain

from planproof.project import Project, ProjectNode
from planproof.project.compiled import find_injections
from planproof.project.macro_calls import find_call, find_tags, is_built_in, list_called

_ASKS = re.compile(
    r"\b(run_query|statement|adapter(?!\s*\.\s*dispatch)|load_relation|load_cached_relation|should_full_refresh|flags|graph)\b"
)
"""Names by which a template asks the warehouse or the command line while dbt compiles. The answer may have changed
since."""

_BRANCHES = re.compile(r"\b(is_incremental|this)\b")
_CALLED = re.compile(r"\{\{\s*(?:(this)|(ref|source)\(([^(){}]*)\))\s*\}\}")
_NOT_THERE = "{{ run_query() }}"


class Branch(enum.Enum):
    """`EITHER`: the text is the same for both; `UNKNOWN`: it cannot be told."""

    EITHER = "either"
    NEW_ROWS = "new rows"
    ALL_ROWS = "all rows"
    UNKNOWN = "unknown"


def find_branch(project: Project, node: ProjectNode) -> Branch:
    """The branch that the compiled text of an incremental model holds.

    The template is read twice as what may have written the text, with `is_incremental()` true and false; where one
    reading alone is possible, that one is meant.
    """
    template, text = node.raw.get("raw_code"), node.sql
    if not isinstance(template, str) or not template.strip() or text is None:
        return Branch.UNKNOWN
    macros = list(_list_macros(project, node))
    if any(_is_in_jinja(_ASKS, said) for said in (template, *macros)) or any(
        _is_in_jinja(_BRANCHES, m) for m in macros
    ):
        return Branch.UNKNOWN
    if not _is_in_jinja(_BRANCHES, template):
        return Branch.EITHER
    plain = _replace_relations(template.strip(), project, node)
    new, every = (_can_write(plain, node, text, incremental) for incremental in (True, False))
    if new == every:
        return Branch.UNKNOWN
    return Branch.NEW_ROWS if new else Branch.ALL_ROWS


def find_reading_call(project: Project, node: ProjectNode) -> str | None:
    """The call by which the model's template, or a macro of it, reads tables while dbt compiles. The text holds what
    was found: where a table was not there yet, a later compile prints another one."""
    template = node.raw.get("raw_code")
    texts = chain([template if isinstance(template, str) else ""], _list_macros(project, node, project.reading_macros))
    return next((call for text in texts if text != _NOT_THERE and (call := find_call(text)) is not None), None)


def _is_in_jinja(words: re.Pattern[str], text: str) -> bool:
    return any(words.search(text[tag]) for tag in find_tags(text))


def _list_macros(project: Project, node: ProjectNode, among: Container[str] | None = None) -> Iterator[str]:
    """The texts of the macros that the model calls, but for dbt's own; one that is not there may ask for anything.
    `among`: of these alone."""
    waiting, seen = [node.raw], set[str]()
    while waiting:
        for key in list_called(waiting.pop()):
            if key in seen or is_built_in(key) or (among is not None and key not in among):
                continue
            seen.add(key)
            macro = project.macros.get(key)
            if not isinstance(macro, Mapping):
                yield _NOT_THERE
                continue
            yield str(macro.get("macro_sql") or _NOT_THERE)
            waiting.append(macro)


def _replace_relations(template: str, project: Project, node: ProjectNode) -> str:
    """The template with the relations that it names written out, as dbt prints them."""
    names = {parent.raw.get("name"): parent for parent in map(project.nodes.get, node.parents) if parent is not None}

    def printed(match: re.Match[str]) -> str:
        if match[1]:
            return str(node.raw.get("relation_name") or match[0])
        last = match[3].rpartition(",")[2].strip().strip("'\"")
        parent = names.get(last)
        if parent is None or (parent.kind == "source") != (match[2] == "source") or parent.materialized == "ephemeral":
            return match[0]
        return str(parent.raw.get("relation_name") or match[0])

    return _CALLED.sub(printed, template)


def _can_write(template: str, node: ProjectNode, text: str, incremental: bool) -> bool:
    from planproof.project.alignment import Alignment, TooManyWays, build_automaton  # With Jinja, which takes long.

    made = build_automaton(template, True, incremental)
    if made is None:
        return True
    try:
        for start, stop, replaced in find_injections(node.raw, text):
            rendering = text[:start] + replaced + text[stop:]
            if any(Alignment(made, form).possible for form in _vary_blank_lines(rendering)):
                return True
    except TooManyWays:
        return True
    return False


def _vary_blank_lines(rendering: str) -> Iterator[str]:
    """The text with other blank lines before and behind it: each dbt trims them in its own way, in files too."""
    core = rendering.strip()
    before = rendering[: len(rendering) - len(rendering.lstrip())]
    behind = rendering[len(rendering.rstrip()) :]
    for first in dict.fromkeys((before, "", "\n", "\n\n")):
        for last in dict.fromkeys((behind, "", "\n", "\n\n")):
            yield f"{first}{core}{last}"
