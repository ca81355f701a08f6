"""YAML that somebody else wrote: a few lines of aliases can stand for a billion values, and a line of brackets ends the
process in which libyaml reads it."""

from __future__ import annotations

from typing import Any

import yaml

from planproof_engine import OverBudget, bounded

MOST_BYTES = 2**24
MOST_SECONDS = 3.0
"""Of the processor, for one text: whole numbers can be made such that each is compared with all others as a key."""
MOST_VALUES = 300_000
"""Values of one text, what an alias stands for counted wherever it stands."""
MOST_LEVELS = 100
MOST_DIGITS = 3500
"""Characters of a number: what it stands for, in hexadecimal too, can be printed, and `1:1:1:...` is soon computed."""
_DAY = "tag:yaml.org,2002:timestamp"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Values(_LOADER):  # type: ignore[misc,valid-type]
    """The same, with numbers that are not endless, and days as they are written, which JSON can tell dbt."""


def _make_day(loader: Any, node: Any) -> Any:
    _LOADER.yaml_constructors[_DAY](loader, node)  # Raises ValueError for one that no month has.
    return node.value


def _make_number(kind: str) -> Any:
    plain = _LOADER.yaml_constructors[f"tag:yaml.org,2002:{kind}"]

    def construct(loader: Any, node: Any) -> Any:
        if len(loader.construct_scalar(node)) > MOST_DIGITS:
            raise yaml.YAMLError(f"holds a number of more than {MOST_DIGITS:,} characters")
        return plain(loader, node)

    return construct


_Values.add_constructor(_DAY, _make_day)
for _kind in ("int", "float"):
    _Values.add_constructor(f"tag:yaml.org,2002:{_kind}", _make_number(_kind))


def load_yaml(text: str) -> Any:
    """What the text holds. Raises `yaml.YAMLError`."""
    refuse_large(text)
    try:
        with bounded(MOST_SECONDS):
            return yaml.load(text, Loader=_Values)
    except yaml.YAMLError:
        raise
    except OverBudget as error:
        raise yaml.YAMLError(f"it uses up all {error} that it may") from error
    except Exception as error:  # A day that no month has, `!!int ''`, `!!bool x`: PyYAML raises what it comes across.
        raise yaml.YAMLError(f"{type(error).__name__}: {error}") from error


def is_plain(text: str) -> bool:
    """Whether YAML without quotes reads the text as itself: no number, no day, no `no`."""
    try:
        found = load_yaml_nodes(text)
    except yaml.YAMLError:
        return False
    return isinstance(found, yaml.ScalarNode) and (found.tag, found.value) == ("tag:yaml.org,2002:str", text)


def load_yaml_nodes(text: str) -> Any:
    """Its nodes, with their places; None where it has none. Raises `yaml.YAMLError`."""
    refuse_large(text)
    return yaml.compose(text, Loader=_LOADER)


def refuse_large(text: str) -> None:
    """Raises `yaml.YAMLError` for more than the limits above: told from the events of the text, of which nothing is
    made."""
    _refuse_characters(text)
    known: dict[str, int] = {}
    # The values within each place that is open, and the anchor of that place.
    opened: list[tuple[int, str | None]] = [(0, None)]
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append((1, event.anchor))
            known.pop(str(event.anchor), None)
            if len(opened) > MOST_LEVELS:
                raise yaml.YAMLError(f"has more than {MOST_LEVELS} levels")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            size, anchor = opened.pop()
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in known:
                raise yaml.YAMLError(f"the alias *{event.anchor} refers to itself, or to nothing")
            size, anchor = known[event.anchor], None
        elif isinstance(event, yaml.ScalarEvent):
            size, anchor = 1, event.anchor
        else:
            continue
        if anchor is not None:
            known[anchor] = size
        within, name = opened[-1]
        opened[-1] = within + size, name
        if within + size > MOST_VALUES:
            raise yaml.YAMLError(f"has more than {MOST_VALUES:,} values, those of an alias counted wherever it stands")


def _refuse_characters(text: str) -> None:
    if len(text) > MOST_BYTES:
        raise yaml.YAMLError(f"has more than {MOST_BYTES:,} characters")
    try:
        text.encode()
    except UnicodeEncodeError as error:  # An argument, or a name of JSON's, may hold half of one.
        raise yaml.YAMLError(f"holds half a character: {error}") from error
