"""The differences of two Sparks as one page of Markdown, each with what of planproof it concerns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from planproof_engine.conf import SETTINGS
from planproof_engine.functions.registry import builtin
from spark_upgrade import raised
from spark_upgrade.differences import Changes, aliases, alternatives, changes, renamed, same_rules
from spark_upgrade.facts import Described, Facts
from spark_upgrade.places import Place, places

Lines = Iterator[str]


def page(old: Facts, new: Facts, answers: Sequence[str] = ()) -> str:
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
        settings = changes(_defaults(old), _defaults(new))
        followed = (tuple(k for k in keys if k in SETTINGS) for keys in (settings.new, settings.gone, settings.changed))
        found = (
            changes(old.functions, new.functions),
            same_rules(old, new),
            _sets(old.tokens, new.tokens),
            settings,
            Changes(*followed),
            changes(old.conditions, new.conditions),
            _sets(old.types, new.types),
        )
        cells = (f"{len(c.new)} / {len(c.gone)} / {len(c.changed)}" for c in found)
        rows.append(f"| {old.version} | {new.version} | {' | '.join(cells)} |")
    return rows


def _sets(old: Iterable[str], new: Iterable[str]) -> Changes:
    return changes(dict.fromkeys(old, ""), dict.fromkeys(new, ""))


def _defaults(facts: Facts) -> dict[str, str]:
    return {key: default for key, (default, _) in facts.settings.items()}


def _functions(old: Facts, new: Facts) -> Lines:
    found = changes(old.functions, new.functions)
    also = {facts.version: aliases(facts.functions) for facts in (old, new)}
    for name in found.new:
        yield f"- new: {_described(new.functions[name], also[new.version][name])}. {_known(name, new)}"
    for name in found.gone:
        yield f"- gone: `{name}` ({old.functions[name].cls})"
    rest = []
    for name in found.changed:
        before, after = old.functions[name], new.functions[name]
        if before.usages != after.usages or before.cls != after.cls:
            yield f"- changed: {_described(before)} is now {_described(after)}"
        elif before.text != after.text:
            rest.append(name)
    for name in sorted(old.functions.keys() & new.functions.keys()):
        lost, got = (set(also[f.version][name]) - set(also[g.version][name]) for f, g in ((old, new), (new, old)))
        if lost or got - set(found.new):
            earlier, later = (_listed(also[f.version][name]) for f in (old, new))
            yield f"- other names of `{name}`: {earlier} became {later}"
    if rest:
        yield f"- said in other words (usage or notes; read them): {_listed(rest)}"


def _described(found: Described, others: Sequence[str] = ()) -> str:
    also = f", also {_listed(others)}" if others else ""
    return f"{_listed(found.usages)} ({found.cls or 'grammar'}, since {found.since or '?'}{also})"


def _known(name: str, facts: Facts) -> str:
    registry = builtin(facts.minor)
    if name in registry.internal:
        return "Only the grammar calls it."
    return "planproof has a line for it." if registry.find(name) else "**planproof has no line for it: Unknown.**"


def _grammar(old: Facts, new: Facts) -> Lines:
    words = _sets(old.tokens, new.tokens)
    for kind, names in (("new", words.new), ("gone", words.gone)):
        if names:
            yield f"- {kind} tokens (`sql.keywords`, `sql.tokens`): {_listed(names)}"
    found, where = same_rules(old, new), places()
    for kind, rules in (("new", found.new), ("gone", found.gone), ("changed", found.changed)):
        for rule in rules:
            place = where.get(rule, Place((), None) if kind == "gone" else None)
            told = str(place) if place else "**not in grammar.yml: say where planproof answers for it**"
            yield f"- {kind}: `{rule}`{': ' + told if told else ''}"
            differing = alternatives(rule, old, new)
            yield from (f"    - without ``{text}``" for text in _readable(differing.dropped))
            yield from (f"    - with ``{text}``" for text in _readable(differing.added))


def _readable(found: Sequence[str]) -> list[str]:
    """Words of one rule in one line; an empty alternative said as such."""
    words = [text for text in found if text.isupper() and " " not in text]
    rest = [text or "(nothing)" for text in found if text not in words]
    return ([" ".join(words)] if words else []) + rest


def _settings(old: Facts, new: Facts) -> Lines:
    before, after = _defaults(old), _defaults(new)
    found = changes(before, after)
    for key in SETTINGS:
        if key in found.changed:
            yield f"- **followed by `Conf.{SETTINGS[key]}`**: `{key}` was `{before[key]}`, is `{after[key]}`"
        elif key in found.new or key in found.gone:
            told = f"new, `{after[key]}`" if key in found.new else f"gone, was `{before[key]}`"
            yield f"- **followed by `Conf.{SETTINGS[key]}`**: `{key}` is {told}"
    for key in found.changed:
        if key not in SETTINGS:
            yield f"- default changed: `{key}` was `{_short(before[key])}`, is `{_short(after[key])}`"
    for key in found.new:
        if key not in SETTINGS:
            yield f"- new: `{key}` = `{_short(after[key])}` (of {new.settings[key][1] or 'no version'})"
    for key in found.gone:
        if key not in SETTINGS:
            yield f"- gone: `{key}`, was `{_short(before[key])}`"


def _short(value: str) -> str:
    flat = " ".join(value.split())
    return flat if len(flat) <= 60 else f"{flat[:57]}..."


def _conditions(old: Facts, new: Facts) -> Lines:
    found, moved, ours = (
        changes(old.conditions, new.conditions),
        renamed(old.conditions, new.conditions),
        raised.names(),
    )
    for name, now in moved.pairs:
        yield f"- renamed: `{name}` is now `{now}`{_ours(name, ours)}"
    for name in found.gone:
        if name not in moved.names and _ours(name, ours):
            yield f"- gone: `{name}`{_ours(name, ours)}"
    for name in found.changed:
        before, after = old.conditions[name], new.conditions[name]
        if before.state != after.state:
            states = f"was {before.state or 'none'}, is {after.state or 'none'}"
            yield f"- other SQLSTATE: `{name}` {states}{_ours(name, ours)}"
        elif _ours(name, ours):
            yield f"- other message: `{name}`{_ours(name, ours)}"
    rest = [name for name in found.changed if not _ours(name, ours)]
    gone = [name for name in found.gone if name not in moved.names and not _ours(name, ours)]
    fresh = [name for name in found.new if name not in moved.names]
    for title, names in (("new", fresh), ("gone", gone), ("other message", rest)):
        if names:
            yield f"- {title}, {len(names)}: {_listed(names)}"


def _ours(name: str, ours: frozenset[str]) -> str:
    return ", **which planproof raises**" if name in ours else ""


def _types(old: Facts, new: Facts) -> Lines:
    classes, names = _sets(old.types, new.types), changes(old.type_names, new.type_names)
    for kind, found in (("new", classes.new), ("gone", classes.gone)):
        if found:
            yield f"- {kind} classes of `org.apache.spark.sql.types`: {_listed(found)}"
    for name in names.new:
        yield f"- new name in DDL: `{name}`, for `{new.type_names[name]}`"
    for name in names.gone:
        yield f"- no name in DDL any more: `{name}`, was for `{old.type_names[name]}`"
    for name in names.changed:
        yield f"- another type in DDL: `{name}` was `{old.type_names[name]}`, is `{new.type_names[name]}`"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
