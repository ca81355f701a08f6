"""Writes docs/codes: a page for every code, with the examples of `planproof.cli.code_examples`.

python tools/code_pages.py
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from planproof.cli.code_examples import EXAMPLES, Case, accept, render_case
from planproof.judge.allowed import UNPUBLISHABLE
from planproof_engine.codes import CODES, Code

FOLDER = Path(__file__).parents[1] / "docs" / "codes"
_WIDTH = 100
_SHOWN_BY = {
    "PP112": "`planproof check` after an edit",
    "PP113": "`planproof check` of a model that costs too much",
    "PP134": "`planproof diff`",
    "PP135": "`planproof diff`",
    "PP610": "`planproof clean`",
    **dict.fromkeys(("PP602", "PP603", "PP605", "PP608", "PP609", "PP622"), "`planproof recover`, or the next publish"),
    **dict.fromkeys(("PP140", "PP141", "PP142", "PP143", "PP144", "PP145"), "both texts of an incremental model"),
}
"""What shows some codes that no example can; the others without one are shown by a run or an audit."""


def render_pages() -> dict[str, str]:
    """The text of each file of the folder."""
    return {"README.md": render_index(), **{f"{name}.md": render_page(code) for name, code in CODES.items()}}


def render_page(code: Code) -> str:
    """The code's page, as Markdown: why, a failing and a mended model, the next step, and how to accept it."""
    parts = [f"# {code.id} {code.title}", *_wrap(code.meaning)]
    example = EXAMPLES.get(code.id)
    if example is not None:
        mode = " (ANSI on)" if example.failing.ansi else ""
        failing, fixed = example.failing, example.fixed
        if (fixed.columns, fixed.settings) == (failing.columns, failing.settings):
            fixed = Case(fixed.sql)  # The YAML stays.
        parts += [f"**Failing{mode}**", _fence(failing), "**Mended**", _fence(fixed)]
    elif code.id in _SHOWN_BY:
        parts += _wrap(f"**Shown by:** {_SHOWN_BY[code.id]}.")
    parts += _wrap(f"**Next:** {code.next_step}")
    if code.id in UNPUBLISHABLE:
        parts += _wrap(accept(code.id))
    return "\n\n".join(parts) + "\n"


def _wrap(text: str) -> list[str]:
    """A paragraph whose lines a reader of the Markdown sees whole."""
    return ["\n".join(textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False))]


def _fence(case: Case) -> str:
    sql, _, yaml = render_case(case).partition("\n\n")
    found = f"```sql\n{sql}\n```"
    return f"{found}\n\n```yaml\n{yaml}\n```" if yaml else found


def render_index() -> str:
    """The list of all codes with links to their pages, as Markdown."""
    rows = [f"| [{code.id}]({code.id}.md) | {code.title} |" for code in CODES.values()]
    head = [
        "# The codes",
        "",
        "A code names a kind of finding and is never reused; `planproof explain PP505` says the same.",
        "1xx: plan and hazards, 2xx: planning and rewriting, 3xx: run, 4xx: files, 5xx: contract,",
        "6xx: publishing, 9xx: planproof itself. A test runs every example.",
        "",
        "A code without an example is shown by a run or an audit. To publish in spite of a finding, set",
        "`meta: {planproof: {allow: [PP505: why]}}` on its model: it is a warning then. Where a page says",
        "so, no setting can allow it. [Quarantine](../quarantine.md) keeps the bad rows out instead.",
        "",
        "| code | title |",
        "|---|---|",
    ]
    return "\n".join([*head, *rows]) + "\n"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in render_pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    for stray in {path.name for path in FOLDER.iterdir()} - render_pages().keys():
        (FOLDER / stray).unlink()


if __name__ == "__main__":
    main()
