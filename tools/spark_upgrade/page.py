"""The differences of two Sparks as one page of Markdown, each with what of planproof it concerns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from planproof_engine.conf import SETTINGS
from planproof_engine.functions.registry import builtin
from spark_upgrade import raised
from spark_upgrade.differences import (
    Changes,
    compare_rules,
    find_aliases,
    find_alternatives,
    find_changes,
    find_renamed,
)
from spark_upgrade.facts import Described, Facts
from spark_upgrade.places import Place, places

Lines = Iterator[str]


def render_page(old: Facts, new: Facts, answers: Sequence[str] = ()) -> str:
    """The whole page. `answers` are the lines on what the new Spark answered, where it was asked."""
    parts = [f"# Spark {old.version} to {new.version}", "", *summary([(old, new)]), ""]
    for title, told in (
        ("Functions", _functions(old, new)),
        ("Grammar", _grammar(old, new)),
        ("Settings", _settings(old, new)),
        ("Error conditions", _conditions(old, new)),
        ("Types", _types(old, new)),
    ):
        lines = list(told)
        parts += [f"## {title}", "", *(lines or ["Nothing changed."]), ""]
    return "\n".join([*parts, *answers]).rstrip() + "\n"


def summary(pairs: Iterable[tuple[Facts, Facts]]) -> list[str]:
    """A table with the figures of each step from one Spark to the next: new / gone / changed."""
    rows = [
        "| from | to | functions | grammar rules | tokens | settings | of them in `Conf` | error conditions | types |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for old, new in pairs:
        settings = find_changes(_defaults(old), _defaults(new))
        followed = (tuple(k for k in keys if k in SETTINGS) for keys in (settings.new, settings.gone, settings.changed))
        found = (
            find_changes(old.functions, new.functions),
            compare_rules(old, new),
            _compare_sets(old.tokens, new.tokens),
            settings,
            Changes(*followed),
            find_changes(old.conditions, new.conditions),
            _compare_sets(old.types, new.types),
        )
        cells = (f"{len(c.new)} / {len(c.gone)} / {len(c.changed)}" for c in found)
        rows.append(f"| {old.version} | {new.version} | {' | '.join(cells)} |")
    return rows


def _compare_sets(old: Iterable[str], new: Iterable[str]) -> Changes:
    return find_changes(dict.fromkeys(old, ""), dict.fromkeys(new, ""))


def _defaults(facts: Facts) -> dict[str, str]:
    return {key: default for key, (default, _) in facts.settings.items()}


def _functions(old: Facts, new: Facts) -> Lines:
    found = find_changes(old.functions, new.functions)
    also = {facts.version: find_aliases(facts.functions) for facts in (old, new)}
    for name in found.new:
        yield f"- new: {_describe(new.functions[name], also[new.version][name])}. {_describe_known(name, new)}"
    for name in found.gone:
        yield f"- gone: `{name}` ({old.functions[name].cls})"
    rest = []
    for name in found.changed:
        before, after = old.functions[name], new.functions[name]
        if before.usages != after.usages or before.cls != after.cls:
            yield f"- changed: {_describe(before)} is now {_describe(after)}"
        elif before.text != after.text:
            rest.append(name)
    for name in sorted(old.functions.keys() & new.functions.keys()):
        lost, got = (set(also[f.version][name]) - set(also[g.version][name]) for f, g in ((old, new), (new, old)))
        if lost or got - set(found.new):
            earlier, later = (_join_names(also[f.version][name]) for f in (old, new))
            yield f"- other names of `{name}`: {earlier} became {later}"
    if rest:
        yield f"- said in other words (usage or notes; read them): {_join_names(rest)}"


def _describe(found: Described, others: Sequence[str] = ()) -> str:
    also = f", also {_join_names(others)}" if others else ""
    return f"{_join_names(found.usages)} ({found.cls or 'grammar'}, since {found.since or '?'}{also})"


def _describe_known(name: str, facts: Facts) -> str:
    registry = builtin(facts.minor)
    if name in registry.internal:
        return "Only the grammar calls it."
    return "planproof has a line for it." if registry.find(name) else "**planproof has no line for it: Unknown.**"


def _grammar(old: Facts, new: Facts) -> Lines:
    words = _compare_sets(old.tokens, new.tokens)
    for kind, names in (("new", words.new), ("gone", words.gone)):
        if names:
            yield f"- {kind} tokens (`sql.keywords`, `sql.tokens`): {_join_names(names)}"
    found, where = compare_rules(old, new), places()
    for kind, rules in (("new", found.new), ("gone", found.gone), ("changed", found.changed)):
        for rule in rules:
            place = where.get(rule, Place((), None) if kind == "gone" else None)
            told = str(place) if place else "**not in grammar.yml: say where planproof answers for it**"
            yield f"- {kind}: `{rule}`{': ' + told if told else ''}"
            differing = find_alternatives(rule, old, new)
            yield from (f"    - without ``{text}``" for text in _format_words(differing.dropped))
            yield from (f"    - with ``{text}``" for text in _format_words(differing.added))


def _format_words(found: Sequence[str]) -> list[str]:
    """Words of one rule in one line; an empty alternative said as such."""
    words = [text for text in found if text.isupper() and " " not in text]
    rest = [text or "(nothing)" for text in found if text not in words]
    return ([" ".join(words)] if words else []) + rest


def _settings(old: Facts, new: Facts) -> Lines:
    before, after = _defaults(old), _defaults(new)
    found = find_changes(before, after)
    for key in SETTINGS:
        if key in found.changed:
            yield f"- **followed by `Conf.{SETTINGS[key]}`**: `{key}` was `{before[key]}`, is `{after[key]}`"
        elif key in found.new or key in found.gone:
            told = f"new, `{after[key]}`" if key in found.new else f"gone, was `{before[key]}`"
            yield f"- **followed by `Conf.{SETTINGS[key]}`**: `{key}` is {told}"
    for key in found.changed:
        if key not in SETTINGS:
            yield f"- default changed: `{key}` was `{_shorten(before[key])}`, is `{_shorten(after[key])}`"
    for key in found.new:
        if key not in SETTINGS:
            yield f"- new: `{key}` = `{_shorten(after[key])}` (of {new.settings[key][1] or 'no version'})"
    for key in found.gone:
        if key not in SETTINGS:
            yield f"- gone: `{key}`, was `{_shorten(before[key])}`"


def _shorten(value: str) -> str:
    flat = " ".join(value.split())
    return flat if len(flat) <= 60 else f"{flat[:57]}..."


def _conditions(old: Facts, new: Facts) -> Lines:
    found, moved, ours = (
        find_changes(old.conditions, new.conditions),
        find_renamed(old.conditions, new.conditions),
        raised.names(),
    )
    for name, now in moved.pairs:
        yield f"- renamed: `{name}` is now `{now}`{_mark_ours(name, ours)}"
    for name in found.gone:
        if name not in moved.names and _mark_ours(name, ours):
            yield f"- gone: `{name}`{_mark_ours(name, ours)}"
    for name in found.changed:
        before, after = old.conditions[name], new.conditions[name]
        if before.state != after.state:
            states = f"was {before.state or 'none'}, is {after.state or 'none'}"
            yield f"- other SQLSTATE: `{name}` {states}{_mark_ours(name, ours)}"
        elif _mark_ours(name, ours):
            yield f"- other message: `{name}`{_mark_ours(name, ours)}"
    rest = [name for name in found.changed if not _mark_ours(name, ours)]
    gone = [name for name in found.gone if name not in moved.names and not _mark_ours(name, ours)]
    fresh = [name for name in found.new if name not in moved.names]
    for title, names in (("new", fresh), ("gone", gone), ("other message", rest)):
        if names:
            yield f"- {title}, {len(names)}: {_join_names(names)}"


def _mark_ours(name: str, ours: frozenset[str]) -> str:
    return ", **which planproof raises**" if name in ours else ""


def _types(old: Facts, new: Facts) -> Lines:
    classes, names = _compare_sets(old.types, new.types), find_changes(old.type_names, new.type_names)
    for kind, found in (("new", classes.new), ("gone", classes.gone)):
        if found:
            yield f"- {kind} classes of `org.apache.spark.sql.types`: {_join_names(found)}"
    for name in names.new:
        yield f"- new name in DDL: `{name}`, for `{new.type_names[name]}`"
    for name in names.gone:
        yield f"- no name in DDL any more: `{name}`, was for `{old.type_names[name]}`"
    for name in names.changed:
        yield f"- another type in DDL: `{name}` was `{old.type_names[name]}`, is `{new.type_names[name]}`"


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
