"""Runs every suite there is, one after the other, and keeps what came of each in docs/suites.yml, which the support
matrix reads.

python tools/suites.py             # goes on where it stopped: what is green here is not run again
python tools/suites.py --list      # the last result of each suite
python tools/suites.py COMMAND...  # these suites alone, such as 'make test-airflow'

The suites are the commands of docs/support.yml. Each one's output is kept below .suites. The exit code is 0 where all
suites are green at this commit.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path("docs") / "suites.yml"
OWN = (RESULTS.as_posix(), "docs/support.md")
"""What a run writes: a commit of these changes nothing that a suite looks at."""

_SUMMARY = re.compile(r"^=*\s*((?:\d+ \w+|no tests ran)\b.*) in [\d.]+s", re.MULTILINE)
_HEAD = "# Written by `make suites`: the last result of each suite, and the last commit at which it was green.\n"


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a suite's last run: `green` is the last commit at which it passed, if any; `said` is what its last
    pytest said of its tests; `date` is the day of the run, as 2026-11-26."""

    commit: str
    result: str
    seconds: int
    said: str
    green: str | None = None
    date: str | None = None

    def __str__(self) -> str:
        day = f" ({self.date})" if self.date else ""
        before = f", green at {self.green}" if self.result != "green" and self.green else ""
        return f"{self.result} at {self.commit}{day}{before}"


def list_commands(form: Mapping[str, Any]) -> list[str]:
    """The command of each suite, once, from the data of the support matrix."""
    return list(dict.fromkeys([run["command"] for run in form["runs"].values()] + list(form.get("suites", ()))))


def read_results(root: Path = ROOT) -> dict[str, Result]:
    """The last result of each suite that was run, by its command."""
    file = root / RESULTS
    form = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else None
    return {command: Result(**entry) for command, entry in (form or {}).items()}


def write_results(results: Mapping[str, Result], root: Path = ROOT) -> None:
    """Writes all results, as `read_results` reads them."""
    form = {command: asdict(results[command]) for command in sorted(results)}
    (root / RESULTS).write_text(_HEAD + yaml.safe_dump(form, sort_keys=False, width=1000), encoding="utf-8")


def run(command: str, root: Path = ROOT) -> tuple[str, int, str]:
    """Runs a suite: its result, the seconds it took, and what it said of its tests. Where no test passed, nothing was
    shown: that is not green, whatever the exit code."""
    log = root / ".suites" / f"{re.sub(r'[^A-Za-z0-9.]+', '-', command)}.log"
    log.parent.mkdir(exist_ok=True)
    began = time.monotonic()
    with log.open("wb") as out:
        code = subprocess.run(shlex.split(command), cwd=root, stdout=out, stderr=subprocess.STDOUT).returncode
    text = log.read_bytes().decode("utf-8", "replace")
    summaries = _SUMMARY.findall(text)
    said = "; ".join(summaries) or f"exit code {code}"
    passed = code == 0 and all(re.search(r"\b\d+ passed", summary) for summary in summaries)
    return "green" if passed else "red", round(time.monotonic() - began), said


def is_green_here(result: Result | None, root: Path = ROOT) -> bool:
    """Whether a suite passed at this commit, or at one from which this one differs in nothing but results."""
    if result is None or result.result != "green":
        return False
    paths = [".", *(f":(exclude){path}" for path in OWN)]
    compared = subprocess.run(["git", "diff", "--quiet", result.commit, "HEAD", "--", *paths], cwd=root)
    return compared.returncode == 0


def run_suites(wanted: Sequence[str], root: Path = ROOT) -> Iterator[tuple[str, Result]]:
    """Runs what is not green here, and yields each result after it was written. Raises ValueError where files are
    changed: a result is that of a commit."""
    changed = _git(root, "status", "--porcelain", "--untracked-files=no").splitlines()
    if others := [line[3:] for line in changed if line[3:] not in OWN]:
        raise ValueError(f"commit first: {', '.join(others[:5])}")
    results, here = read_results(root), _git(root, "rev-parse", "--short=10", "HEAD")
    for command in wanted:
        before = results.get(command)
        if is_green_here(before, root):
            continue
        result, seconds, said = run(command, root)
        green = here if result == "green" else before.green if before is not None else None
        results[command] = Result(here, result, seconds, said, green, time.strftime("%Y-%m-%d"))
        write_results(results, root)
        yield command, results[command]


def _git(root: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=root, check=True, capture_output=True, text=True).stdout.rstrip("\n")


def main(args: Sequence[str]) -> int:
    known = list_commands(yaml.safe_load((ROOT / "docs" / "support.yml").read_text(encoding="utf-8")))
    if unknown := [name for name in args if name not in (*known, "--list")]:
        print(f"no suite: {', '.join(unknown)}; known: {', '.join(known)}", file=sys.stderr)
        return 2
    wanted = [name for name in args if name != "--list"] or known
    if "--list" not in args:
        try:
            for command, result in run_suites(wanted):
                print(f"{command}: {result} ({result.seconds} s; {result.said})", flush=True)
        except ValueError as error:
            print(error, file=sys.stderr)
            return 2
    results = read_results()
    for command in wanted:
        print(f"{command}: {results.get(command, 'not run')}")
    return 0 if all(is_green_here(results.get(command)) for command in wanted) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
