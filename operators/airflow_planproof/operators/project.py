"""What the operators about a compiled dbt project share: from what a task was given to what planproof's core wants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_planproof.errors import PlanproofCannotRun
from airflow_planproof.operators.operator import PlanproofOperator


def split_words(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """A selection as the core takes it: a text is one selector, or several with blanks between them."""
    return tuple(given.split()) if isinstance(given, str) else tuple(given or ())


def parse_full_refresh(given: bool | str) -> bool:
    """The flag, also where a template such as `{{ params.full_refresh }}` made a text of it.

    Raises `PlanproofCannotRun` for a text that is neither true nor false: every text would count as true.
    """
    found = {"true": True, "false": False}.get(str(given).strip().lower())
    if found is None:
        raise PlanproofCannotRun(f"full_refresh is {given!r}; it takes true or false")
    return found


PROJECT_FIELDS = ("project_dir", "manifest", "profiles_dir", "target", "select", "exclude", "selector")


class PlanproofProjectOperator(PlanproofOperator):
    """An operator for models that a dbt project selects.

    :param project_dir: the dbt project; its `target/manifest.json` is read.
    :param manifest: a manifest.json in place of the project's own.
    :param profiles_dir: where profiles.yml is; by default where dbt looks for it.
    :param target: the profile's target.
    :param select: models, as for `planproof check --select`; all of them where it is empty.
    :param exclude: models to leave out.
    :param selector: a selector of the project's selectors.yml, in place of `select`.

    The other arguments are those of `PlanproofOperator`.
    """

    template_fields: Sequence[str] = (*PROJECT_FIELDS, *PlanproofOperator.template_fields)

    def __init__(
        self,
        *,
        project_dir: str | None = None,
        manifest: str | None = None,
        profiles_dir: str | None = None,
        target: str | None = None,
        select: str | Sequence[str] = (),
        exclude: str | Sequence[str] = (),
        selector: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.project_dir = project_dir
        self.manifest = manifest
        self.profiles_dir = profiles_dir
        self.target = target
        self.select = select
        self.exclude = exclude
        self.selector = selector

    def list_project_fields(self) -> dict[str, Any]:
        """The fields of a `Request` that say which models of which project are meant, and under which settings."""
        from dbt_planproof.compiler import DBT

        return {
            "compiler": DBT,
            "project_dir": self.project_dir,
            "manifest": self.manifest,
            "profiles_dir": self.profiles_dir,
            "target": self.target,
            "select": split_words(self.select),
            "exclude": split_words(self.exclude),
            "selector": self.selector or None,
            "settings": self.settings,
        }
