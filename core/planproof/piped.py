"""`python -m planproof.piped`: work for a caller in another interpreter, told and answered in lines of JSON.

The first line on standard input is `{"work": {...}}`, the fields of `planproof.project.work.Work`. Each line on
standard output is `{"report": {...}}`, `{"note": "..."}`, `{"end": "done"}`, or `{"end": "cannot run" | "failed",
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
from typing import Any, TextIO

from planproof.project.work import Work, is_lasting
from planproof.report.model import Report
from planproof.session.protocol import Session

TAG = "planproof-piped"


def main() -> int:
    """0 where the work was done, whatever it found out; 2 where it could not be done."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(line: dict[str, Any]) -> None:
        out.write(json.dumps(line, default=str) + "\n")
        out.flush()

    try:
        work = Work(**json.loads(sys.stdin.readline())["work"])
        answer(work, say, sys.stdin)
    except Exception as error:
        traceback.print_exc()
        said = str(error) or type(error).__name__
        say({"end": "cannot run" if is_lasting(error) else "failed", "message": said})
        return 2
    say({"end": "done"})
    return 0


def answer(work: Work, say: Callable[[dict[str, Any]], None], told: TextIO) -> None:
    """Does the work and says each report; ends the process where `told` ends before the work."""
    opened: list[Session] = []
    threading.Thread(target=_end_with, args=(told, opened), daemon=True).start()
    session = work.open_session()
    try:
        opened.append(session)
        session.tag(TAG)

        def finished(report: Report) -> None:
            say({"report": report.to_dict()})

        work.reports(session, lambda: session.tag(TAG), finished, lambda remark: say({"note": remark}))
    finally:
        session.stop()


def _end_with(told: TextIO, opened: list[Session]) -> None:
    told.read()
    for session in opened:
        with suppress(Exception):  # Whatever state Spark is in, this process ends.
            session.cancel(TAG)
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
