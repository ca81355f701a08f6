"""Texts as an editor sees them: positions, and edits of a template carried into its compiled SQL."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from planproof.project.compiled import TemplateMap

_JINJA = ("{{", "}}", "{%", "%}", "{#", "#}")

Edit = tuple[int, int, str]
"""From, to, and what stands there afterwards."""


@dataclass(frozen=True, slots=True)
class Lines:
    """A text's offsets as lines and columns from 0; columns count UTF-16 units, as the protocol has it."""

    text: str

    def position(self, offset: int) -> tuple[int, int]:
        start = self.text.rfind("\n", 0, offset) + 1
        return self.text.count("\n", 0, offset), len(self.text[start:offset].encode("utf-16-le")) // 2

    def offset(self, line: int, column: int) -> int:
        """The offset of a position; beyond a line's end its end."""
        start = 0
        for _ in range(line):
            found = self.text.find("\n", start)
            if found < 0:
                return len(self.text)
            start = found + 1
        end = self.text.find("\n", start)
        content = self.text[start : end if end >= 0 else len(self.text)]
        return start + len(content.encode("utf-16-le")[: column * 2].decode("utf-16-le", "ignore"))


_MOST_PAIRS = 100_000
"""Pairs of equal lines among which those that were kept are looked for: twenty thousand empty lines took minutes."""


Kept = tuple[bool, int, int, int, int]
"""Whether some lines are the same, from and to before, from and to after."""


def compare_lines(before: Sequence[str], after: Sequence[str]) -> list[Kept]:
    """What became of the lines. Where too many lines are alike, all between the first and the last one that differ
    counts as changed."""
    head = _count_same(before, after)
    tail = _count_same(before[head:][::-1], after[head:][::-1])
    ends = len(before) - tail, len(after) - tail
    old, new = before[head : ends[0]], after[head : ends[1]]
    counts, others = Counter(old), Counter(new)
    found = [(True, 0, head, 0, head)]
    if sum(count * others[line] for line, count in counts.items()) > _MOST_PAIRS:
        found.append((False, head, ends[0], head, ends[1]))
    else:
        codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        found += [(tag == "equal", head + i, head + j, head + k, head + m) for tag, i, j, k, m in codes]
    return [*found, (True, ends[0], len(before), ends[1], len(after))]


def _count_same(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines, or characters, both begin with."""
    return next((at for at, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def find_edits(old: str, new: str) -> list[Edit]:
    """What was changed, line by line, each change as short as it can be."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    return [
        _shorten("".join(before[i:j]), "".join(after[k:m]), starts[i])
        for is_same, i, j, k, m in compare_lines(before, after)
        if not is_same
    ]


def _shorten(old: str, new: str, at: int) -> Edit:
    head = _count_same(old, new)
    tail = _count_same(old[head:][::-1], new[head:][::-1])
    return at + head, at + len(old) - tail, new[head : len(new) - tail]


def resplice(mapped: TemplateMap, new: str) -> str | None:
    """The compiled SQL of a template that was edited, where all that was edited is literal text outside of Jinja.

    None where only dbt can say what the new template renders to.
    """
    old, compiled = mapped.template, mapped.compiled
    found = []
    for start, stop, text in find_edits(old, new):
        place = _compiled_span(mapped, start, stop)
        if place is None or _is_touching_tag(old, new, start, stop, text):
            return None
        found.append((*place, text))
    for start, stop, text in reversed(found):
        compiled = compiled[:start] + text + compiled[stop:]
    return compiled


def _is_touching_tag(old: str, new: str, start: int, stop: int, text: str) -> bool:
    """Whether the edit makes, breaks or touches a tag: a brace may become one with its neighbour."""
    around = old[max(0, start - 1) : start] + text + old[stop : stop + 1]
    removed = old[max(0, start - 1) : stop + 1]
    return any(tag in part for tag in _JINJA for part in (around, removed))


def _compiled_span(mapped: TemplateMap, start: int, stop: int) -> tuple[int, int] | None:
    """The span of the compiled SQL that the template's literal text `start:stop` wrote."""
    if start == stop:
        after = mapped.compiled_offset(start)
        if after is not None:
            return after, after
        before = mapped.compiled_offset(start - 1)
        return (before + 1, before + 1) if before is not None else None
    first, last = mapped.compiled_offset(start), mapped.compiled_offset(stop - 1)
    if first is None or last is None or last - first != stop - 1 - start:
        return None
    # Nothing but the text itself stands between: no tag is silently left out.
    return (first, last + 1) if mapped.compiled[first : last + 1] == mapped.template[start:stop] else None


def move_line(compared: Sequence[Kept], line: int) -> int:
    """Where a line of the old text, from 0, stands in the new one; a line that is gone, where it was."""
    for is_same, i, j, k, m in compared:
        if i <= line < j:
            return k + line - i if is_same else max(0, min(k + line - i, m - 1))
    return line
