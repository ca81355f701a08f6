"""dbt for Airflow: one command in this process or in another environment, and the report that it left."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_planproof.errors import PlanproofCannotRun
from airflow_planproof.work import CANCEL_SECONDS, Process, end_process

if TYPE_CHECKING:
    from planproof.report import RunReport

GUARDED = ("build", "run", "retry")
_LINES = 20
_MOST_BYTES = 2**30
_LONGEST = 2**16
"""Characters of dbt's after which a line of the log ends."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Ended:
    """How dbt ended. `lasting`: a retry would end in the same way (wrong arguments, a project that does not
    compile)."""

    success: bool
    message: str = ""
    lasting: bool = False


def is_guarded_run(arguments: Sequence[str]) -> bool:
    """Whether the command is one that publishes models."""
    return bool(arguments) and arguments[0] in GUARDED


def run_dbt_here(arguments: Sequence[str], on_event: Callable[[Any], None]) -> Ended:
    """Runs dbt in this process; `on_event` gets each of its events, in the thread that fires it."""
    try:
        from dbt.cli.main import dbtRunner
    except ImportError as error:
        raise PlanproofCannotRun(
            f"dbt is not installed here ({error}): install planproof[dbt], or give dbt_executable_path"
        ) from error
    import planproof.session

    with ExitStack() as stack:
        found = planproof.session.find_running()
        if found is not None:
            stack.enter_context(found.preserve_settings())
        result = dbtRunner(callbacks=[on_event]).invoke(list(arguments))
        if found is None and (own := planproof.session.find_running()) is not None:
            stack.callback(own.stop)
    if result.success:
        return Ended(True)
    if result.exception is not None:
        return Ended(False, str(result.exception), _is_lasting(str(result.exception)))
    return Ended(False, _describe_failed_nodes(result.result))


def _is_lasting(said: str) -> bool:
    """dbt fails as a whole for usage, parsing and compiling; trouble with the warehouse is told apart by its words."""
    from planproof.project.request import is_by_warehouse

    return not is_by_warehouse(said)


def _describe_failed_nodes(result: Any) -> str:
    failed = [r for r in getattr(result, "results", ()) if str(r.status) in ("error", "fail", "runtime error")]
    said = [f"{r.node.unique_id}: {str(r.message).strip()}" for r in failed[:_LINES]]
    return "\n".join(said) or "see dbt's log above"


def read_recorded(project_dir: str, since: datetime, env: Mapping[str, str] | None = None) -> RunReport | None:
    """The report that dbt's plugin wrote below the target directory since then, or None; `env` is what dbt saw beside
    this environment."""
    target = find_target_path(Path(project_dir).expanduser(), {**os.environ, **(env or {})})
    report = read_report(target / "planproof" / "report.json")
    if report is None:
        return None
    try:
        began = datetime.fromisoformat(report.started)
        # One from the future is none of dbt's.
        return report if since <= began <= datetime.now(began.tzinfo) else None
    except (ValueError, TypeError):
        return None


def read_report(file: Path) -> RunReport | None:
    """The report in a file; None where there is none, or what is there is no report."""
    from planproof.regular import read_regular
    from planproof.report import RunReport

    try:
        return RunReport.from_json(read_regular(file, _MOST_BYTES).decode())
    except (OSError, ValueError, TypeError):
        return None


def find_target_path(project_dir: Path, env: Mapping[str, str]) -> Path:
    """dbt's target directory: $DBT_TARGET_PATH, the project file's `target-path`, or `target`."""
    from planproof.project.target_folder import target_folder

    return target_folder(project_dir, None, env)


def refuse_unguarded(executable: str) -> None:
    """Raises `PlanproofCannotRun` where the Python that this dbt runs on lacks planproof: it would publish unguarded.

    A program whose Python cannot be told (a wrapper, say) passes.
    """
    python = _find_python(executable)
    if python is None:
        return
    from planproof.interpreter import python_command, python_environment

    found = subprocess.run(
        python_command(python, "dbt_planproof"), capture_output=True, env=python_environment(os.environ)
    )
    if found.returncode:
        raise PlanproofCannotRun(
            f"{executable}: planproof is not installed in its environment, so that nothing would be guarded; install "
            f"it there: {' '.join(python)} -m pip install planproof"
        )


def _find_python(executable: str) -> list[str] | None:
    """The interpreter that the script's first line names, else the one beside it."""
    script = shutil.which(executable)
    if script is None:
        return None
    first = ""
    with suppress(OSError), open(script, "rb") as file:
        first = file.readline(1024).decode(errors="replace")
    if first.startswith("#!") and "python" in first:
        return first[2:].split()
    beside = Path(script).resolve().parent / "python"
    return [str(beside)] if beside.exists() else None


def plain_line(line: str) -> str:
    """A line of dbt's without its colours, as Airflow's log shows it."""
    from planproof.report import neutralize

    return neutralize(_COLOUR.sub("", line.rstrip()))


class DbtElsewhere:
    """dbt of another environment; the main thread reads its output and stays open for a timeout or a kill."""

    def __init__(self, executable: str, log: Any) -> None:
        self._executable, self._log = executable, log
        self._child: Process | None = None

    def run(self, arguments: Sequence[str]) -> Ended:
        """Raises `PlanproofCannotRun` where there is no such dbt, or where it would publish without planproof."""
        if is_guarded_run(arguments):
            refuse_unguarded(self._executable)
        try:
            child = self._child = subprocess.Popen(
                [self._executable, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise PlanproofCannotRun(f"{self._executable} cannot be started: {error}") from error
        last: list[str] = []
        try:
            assert child.stdout is not None
            for line in iter(partial(child.stdout.readline, _LONGEST), ""):
                last = [*last[1 - _LINES :], plain_line(line)]
                self._log.info("%s", last[-1])
            code = child.wait()
        finally:
            self.cancel()
        # dbt: 1 nodes failed, 2 could not run.
        said = "\n".join(last)
        return Ended(code == 0, said, code == 2 and _is_lasting(said))

    def cancel(self, seconds: float = CANCEL_SECONDS) -> bool:
        """Asks dbt to end, which takes its Spark with it; after `seconds` it is killed. True where it ended."""
        return end_process(self._child, _ask_to_end, seconds)


def _ask_to_end(child: Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
