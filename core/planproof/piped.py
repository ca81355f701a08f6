"""`python -m planproof.piped`: a request of a caller in another interpreter, told and answered in lines of JSON.

The first line on standard input is `{"request": {...}}`, the fields of `planproof.project.request.Request`. Each line
on standard output is `{"report": {...}}`, `{"note": "..."}`, `{"end": "done"}`, or `{"end": "cannot run" | "failed",
"message": "..."}`.
What Spark and dbt print goes to standard error. When standard input ends, the running Spark job is cancelled and the
process ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TextIO

from dbt_planproof.compiler import DBT
from planproof.project import ProjectNode
from planproof.project.request import Progress, Request, is_lasting
from planproof.report import Report
from planproof.session import Session

TAG = "planproof-piped"


def main() -> int:
    """0 where it was done, whatever it found out; 2 where it could not be done."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(line: dict[str, Any]) -> None:
        out.write(json.dumps(line, default=str) + "\n")
        out.flush()

    try:
        request = Request(**json.loads(sys.stdin.readline())["request"], compiler=DBT)
        answer(request, say, sys.stdin)
    except Exception as error:
        traceback.print_exc()
        said = str(error) or type(error).__name__
        say({"end": "cannot run" if is_lasting(error) else "failed", "message": said})
        return 2
    say({"end": "done"})
    return 0


@dataclass(frozen=True, slots=True)
class _PipedProgress(Progress):
    """Each report and remark as a line; each model's jobs go under the tag."""

    say: Callable[[dict[str, Any]], None]
    session: Session

    def on_model_begin(self, node: ProjectNode) -> None:
        self.session.tag(TAG)

    def on_model_end(self, report: Report) -> None:
        self.say({"report": report.to_dict()})

    def on_remark(self, remark: str) -> None:
        self.say({"note": remark})


def answer(request: Request, say: Callable[[dict[str, Any]], None], requests: TextIO) -> None:
    """Does what is asked and says each report; ends the process where `requests` ends before that."""
    opened: list[Session] = []
    threading.Thread(target=_end_with, args=(requests, opened), daemon=True).start()
    session = request.open_session()
    try:
        opened.append(session)
        session.tag(TAG)
        request.reports(session, _PipedProgress(say, session))
    finally:
        session.stop()


def _end_with(requests: TextIO, opened: list[Session]) -> None:
    requests.read()
    for session in opened:
        with suppress(Exception):  # Whatever state Spark is in, this process ends.
            session.cancel(TAG)
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
