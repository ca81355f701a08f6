"""How a task ends when it does not succeed: broken contract, wrong arguments, or Spark's trouble.

Airflow retries by the type: a subclass of `AirflowFailException` fails the task at once, whatever `retries` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowException, redact

try:
    from airflow.sdk.exceptions import AirflowFailException
except ImportError:  # Airflow 2
    from airflow.exceptions import AirflowFailException  # type: ignore[no-redef]

if TYPE_CHECKING:
    from planproof.report import Report


class _WithReports(Exception):
    """An exception that carries what was found out before it was raised.

    Secrets are masked in its message: callbacks of the task may send it elsewhere than to the log.
    """

    def __init__(self, message: str, reports: Sequence[Report] = ()) -> None:
        super().__init__(redact(message))
        self.reports = tuple(reports)


class PlanproofViolation(_WithReports, AirflowFailException):
    """A contract is broken. Running the same models again would break it again, so the task is never retried."""


class PlanproofCannotRun(_WithReports, AirflowFailException):
    """The arguments, the project or the environment are wrong; a retry would find them so again."""


class PlanproofRunFailed(_WithReports, AirflowException):
    """Spark failed, and no contract is known to be broken: Airflow retries as the task says."""
