"""dbt's plugin class: it puts the guarded adapter in the Spark adapter's place, or takes it away again."""

from __future__ import annotations

import sys

from dbt.plugins import dbtPlugin

from dbt_planproof.install import install, remove, switched_off


class PlanproofPlugin(dbtPlugin):
    """Set up by dbt once per invocation, after the profile is loaded and before its adapter is made."""

    def initialize(self) -> None:
        # The profile has loaded its adapter by now: without dbt-spark in this process there is nothing to guard.
        if "dbt.adapters.spark" not in sys.modules:
            return
        if switched_off():
            remove()
        else:
            install()
