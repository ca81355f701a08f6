"""Astronomer Cosmos: every model of a DbtDag or DbtTaskGroup through planproof's guard."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any

from airflow_planproof import message, xcom
from airflow_planproof.dbt_command import is_guarded_run, read_recorded, refuse_unguarded
from airflow_planproof.errors import PlanproofCannotRun

FULL = ("local", "virtualenv", "watcher")
"""Modes in which dbt runs on the worker, whose files Cosmos hands over afterwards."""

IN_AN_IMAGE = (
    "docker",
    "kubernetes",
    "aws_eks",
    "aws_ecs",
    "azure_container_instance",
    "gcp_cloud_run_job",
    "gcp_gke",
    "watcher_kubernetes",
    "watcher_gcp_gke",
)
_BEGAN = "planproof_began"
_LACKS = "the virtual environment lacks planproof; add 'planproof' to py_requirements"


class GuardedInPart(UserWarning):
    """What planproof cannot do in the chosen execution mode of Cosmos."""


def guarded(
    operator_args: Mapping[str, Any] | None = None, *, execution_mode: Any = "local", fail_on: str | None = None
) -> dict[str, Any]:
    """`operator_args` with which planproof gates and audits every model, and its report comes back to Airflow.

    Before a task's dbt command it is made sure that planproof is in the environment that dbt runs in. After it, the
    report goes to XCom (`planproof_report`, with its page's address), and a broken contract fails the task without a
    retry. `execution_mode` is the one of the ExecutionConfig: what it cannot do is said when the DAG file is parsed, by
    the warning `GuardedInPart`, or ValueError where nothing would be guarded.
    """
    args = dict(operator_args or {})
    mode = str(getattr(execution_mode, "value", execution_mode)).lower()
    _warn_of_limits(mode, args)
    if mode not in FULL:
        return args
    args["interceptors"] = [*(args.get("interceptors") or ()), check_environment]
    before = args.get("callback") or []
    own = bring_home(fail_on)
    # Our callback may fail the task, so that it comes last: the user's own callbacks have run by then.
    args["callback"] = [*(before if isinstance(before, list) else [before]), own]
    return args


def _warn_of_limits(mode: str, args: Mapping[str, Any]) -> None:
    if str((args.get("env") or {}).get("PLANPROOF", "")).lower() in ("off", "0", "false", "no"):
        raise ValueError("guarded(): operator_args switch planproof off by env: {'PLANPROOF': 'off'}")
    if mode not in FULL + IN_AN_IMAGE:
        raise ValueError(f"guarded(): planproof guards nothing in the execution mode {mode!r}; use one of {FULL}")
    if mode == "virtualenv" and not _asks_for_planproof(args.get("py_requirements")):
        raise ValueError(f"guarded(): {_LACKS}")
    if mode in IN_AN_IMAGE:
        _warn(
            f"in the execution mode {mode!r} models are gated only where planproof is installed in the image; their "
            "reports stay there, and a broken contract is retried like any failure"
        )
    if mode == "watcher":
        _warn(
            "in the execution mode 'watcher' the producer fails without a retry on a broken contract; the model's own "
            "task is tried once more, runs the model by itself under the guard, and fails then without a retry"
        )


def _warn(message: str) -> None:
    warnings.warn(f"planproof: {message}", GuardedInPart, stacklevel=4)


def check_environment(context: Any, operator: Any) -> None:
    """Cosmos calls this before the dbt command. Raises `PlanproofCannotRun` where dbt would run without planproof."""
    context[_BEGAN] = datetime.now(timezone.utc)
    if hasattr(operator, "py_requirements"):
        if not _asks_for_planproof(operator.py_requirements):
            raise PlanproofCannotRun(_LACKS)
    elif not _runs_in_process(operator.invocation_mode):
        refuse_unguarded(str(operator.dbt_executable_path))


def _asks_for_planproof(requirements: Any) -> bool:
    return any("planproof" in str(given) for given in requirements or ())


def _runs_in_process(mode: Any) -> bool:
    """Whether Cosmos calls dbt in the task's own process, as it does where it can and nothing else is asked for."""
    if mode is None:
        return importlib.util.find_spec("dbt") is not None
    return str(getattr(mode, "value", mode)) == "dbt_runner"


def bring_home(fail_on: str | None = None) -> Callable[..., None]:
    """What Cosmos calls after the dbt command, with the directory in which it ran."""

    def after(project_dir: str, *, context: Any, **_: Any) -> None:
        ti, task = context["ti"], context["task"]
        # `dag.test()` of Airflow 2 runs a task that never started.
        report = read_recorded(project_dir, context.get(_BEGAN) or ti.start_date, task.env)
        if report is None:
            if is_guarded_run(task.base_cmd):
                task.log.warning("planproof: dbt left no report, so that nothing was guarded; see dbt's log for why")
            return
        form = xcom.report_form(report, ti)
        xcom.push(ti, form)
        message.end_dbt_task(report, fail_on, form["url"])

    return after
