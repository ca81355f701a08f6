"""Writes docs/settings.md from the one table of settings.

python tools/settings_page.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from planproof.settings import ANY_ROWS, NO_LIMITS, SETTINGS, Setting

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"

_HEAD = """# Settings

Settings stand in dbt's YAML, below `meta: planproof:`; commands, Airflow operators and Python use
the same names. **dbt takes only the nearest `planproof:`** and merges no keys: a model repeats what
it keeps of its folder's. An unknown key or value stops its model in `dbt build`, and a whole
`check`.

| where | how | wins over |
|---|---|---|
| a model | `meta: {planproof: {guard: off}}` below its `config` | its folder's and the project's |
| a folder, a project | `+meta: {planproof: {...}}` in dbt_project.yml | the default |
| a command | an option: `--fail-on unproved` | what the models say |
| an Airflow operator | an argument: `fail_on="unproved"` | what the models say |
| Python | `Model(..., settings=Settings(fail_on="unproved"))` | |

```yaml
models:
  shop:
    +meta: {planproof: {fail_on: unproved}}
    staging:
      +meta: {planproof: {fail_on: violated, allow: [PP129]}}
```

| setting | values | default | what it does |
|---|---|---|---|
"""

_TAIL = """
`vars: {planproof: {on_unguarded: pass}}` in dbt_project.yml lets dbt run where the plugin cannot
guard ([more](guarantees.md#a-dbt-that-is-not-known)). `python tools/settings_page.py` makes this
page.
"""


def render_row(setting: Setting) -> str:
    sentence = setting.sentence.replace("<", "&lt;")
    return f"| `{setting.name}` | {_values(setting)} | {_default(setting)} | {sentence} |\n"


def _values(setting: Setting) -> str:
    if setting.form == "flag":
        return "`true`, `false`"
    if setting.choices:
        listed = ", ".join(f"`{choice}`" for choice in setting.choices)
        return f"any of {listed}" if setting.form == "names" else listed
    return {
        "names": "codes",
        "limits": "a mapping",
        "quarantine": "a mapping",
        "column": "a column's name",
        "spark": "a version, such as `3.5`",
    }[setting.form]


def _default(setting: Setting) -> str:
    if setting.default in ("", (), NO_LIMITS, ANY_ROWS):
        return "none"
    if setting.default == setting.choices:
        return "all"
    return f"`{str(setting.default).lower()}`"


def render_page() -> str:
    return _HEAD + "".join(map(render_row, SETTINGS)) + _TAIL


def main() -> int:
    PAGE.write_text(render_page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
