"""YAML that somebody else wrote: a few lines of aliases can stand for a billion values, and a line of brackets ends the
process in which libyaml reads it."""

from __future__ import annotations

from typing import Any

import yaml

MOST_BYTES = 2**24
MOST_VALUES = 300_000
"""Values of one text, what an alias stands for counted wherever it stands."""
MOST_LEVELS = 100
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: str) -> Any:
    """What the text holds. Raises `yaml.YAMLError`."""
    refuse_large(text)
    try:
        return yaml.load(text, Loader=_LOADER)
    except (ValueError, RecursionError) as error:  # A day that no month has, a number of 5,000 digits.
        raise yaml.YAMLError(str(error)) from error


def load_yaml_nodes(text: str) -> Any:
    """Its nodes, with their places; None where it has none. Raises `yaml.YAMLError`."""
    refuse_large(text)
    return yaml.compose(text, Loader=_LOADER)


def refuse_large(text: str) -> None:
    """Raises `yaml.YAMLError` for more than the limits above: told from the events of the text, of which nothing is
    made."""
    if len(text) > MOST_BYTES:
        raise yaml.YAMLError(f"has more than {MOST_BYTES:,} characters")
    known: dict[str, int] = {}
    # The values within each place that is open, and the anchor of that place.
    opened: list[tuple[int, str | None]] = [(0, None)]
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append((1, event.anchor))
            if len(opened) > MOST_LEVELS:
                raise yaml.YAMLError(f"has more than {MOST_LEVELS} levels")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            size, anchor = opened.pop()
        elif isinstance(event, yaml.AliasEvent):
            size, anchor = known.get(str(event.anchor), 1), None
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
