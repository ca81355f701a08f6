"""dbt's plugin class: it puts the guarded adapter in the Spark adapter's place, or takes it away again."""

from __future__ import annotations

from dbt.plugins import dbtPlugin  # type: ignore[attr-defined]

from dbt_planproof import absence


class PlanproofPlugin(dbtPlugin):
    """Set up by dbt once per invocation, after the profile is loaded and before its adapter is made."""

    def initialize(self) -> None:
        try:
            from dbt_planproof import install
        except Exception as error:
            if not absence.is_switched_off():
                absence.refuse_or_warn([f"planproof's own modules cannot be loaded: {type(error).__name__}: {error}"])
            return
        install.choose_adapter()
