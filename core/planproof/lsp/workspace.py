"""A dbt project as an editor works on it: the last compile, with the edits that were carried into it since. Saved
models are compiled by dbt in a process beside the editor, which asks no warehouse.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planproof.interpreter import python_command, python_environment
from planproof.lsp.texts import Kept, Lines, compare_lines, move_line, resplice
from planproof.project import Cache, Project, ProjectLocation, ProjectNode, read_frozen
from planproof.project.compiled import TemplateMap, read_template
from planproof.project.offline import OfflineCheck
from planproof.project.reads import LARGEST, is_within
from planproof.project.schedule import Schedule
from planproof.project.state import State, Wanted
from planproof.regular import read_regular
from planproof.report import Report
from planproof_engine import AnalysisError, Finding, OverBudget, Unknown, Verdict, bounded, deeply, evolve
from planproof_engine.plans import References

if TYPE_CHECKING:
    from planproof_engine import LogicalPlan


@dataclass(frozen=True, slots=True)
class Placed:
    """A finding at a place of the text in the editor: a line and its first and last column, from 0."""

    finding: Finding
    line: int
    start: int
    stop: int


@dataclass(slots=True)
class Opened:
    """A model in the editor: its text, and the last text (`judged`) whose compiled form is known."""

    unique_id: str
    text: str
    judged: str


class _Editing:
    """What is edited differs from what dbt compiled, and is judged as it is."""

    def find_change(self, node: ProjectNode) -> str | None:
        return None


@dataclass(slots=True)
class Workspace:
    """Judges models as they are edited. Nothing is asked of a warehouse. Used by one thread at a time."""

    location: ProjectLocation
    cache: Cache | None = None
    project: Project = field(init=False)
    check: OfflineCheck = field(init=False)
    nodes: dict[str, ProjectNode] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    reports: dict[str, Report] = field(default_factory=dict)
    opened: dict[str, Opened] = field(default_factory=dict)
    _files: dict[str, str] = field(default_factory=dict)
    _read: dict[str, tuple[ProjectNode, LogicalPlan, References] | None] = field(default_factory=dict)

    def load(self) -> None:
        """Reads the last compile and judges all of it. Raises `ProjectError`."""
        project = self.location.project()
        check = OfflineCheck(project, self.location.conf(), read_frozen(project))
        schedule = Schedule(check, project.nodes, self.cache, jobs=1)
        reports = schedule.reports()
        check.files = _Editing()  # type: ignore[assignment]
        self.project, self.check, self.reports, self.states = project, check, reports, schedule.states
        self.nodes = dict(project.nodes)
        self._files = {n.file: key for key, n in self.nodes.items() if n.kind == "model" and n.file}
        self._read.clear()
        for file, one in list(self.opened.items()):
            self.edit(file, one.text)

    def model(self, file: str) -> ProjectNode | None:
        """The model whose template the file is, by its path from the project's directory."""
        key = self._files.get(file)
        return self.nodes[key] if key is not None else None

    # --- edits ------------------------------------------------------------------------------------------------------

    def edit(self, file: str, text: str) -> bool:
        """Takes the text of an open model, and judges it. False where only dbt can compile what was changed: the last
        text that could be judged stands for it, and for one that is too long."""
        node = self.model(file)
        if node is None or len(text) > _MOST_TYPED:
            self.close(file)
            return True
        text = text.replace("\r\n", "\n")
        before = self.opened.get(file)
        known = (
            before.judged if before is not None and before.unique_id == node.unique_id else self._compiled_text(node)
        )
        opened = self.opened[file] = Opened(node.unique_id, text, known)
        raw = str(node.raw.get("raw_code") or "").replace("\r\n", "\n")
        if text.strip() == raw.strip():
            opened.judged, compiled = text, node.sql
        else:
            self.check.opened[file] = known
            mapped = self._map_template(node)
            compiled = resplice(mapped, text) if mapped is not None else None
        if compiled is None:
            return False
        opened.judged = self.check.opened[file] = text
        self.judge(evolve(node, raw={**node.raw, "raw_code": text.strip(), "compiled_code": compiled}))
        return True

    def _compiled_text(self, node: ProjectNode) -> str:
        """The text that dbt compiled, with the blanks at its top where the file still has it."""
        raw = str(node.raw.get("raw_code") or "")
        return read_template(node.raw, self.project.directory) or raw

    def _map_template(self, node: ProjectNode) -> TemplateMap | None:
        """None where that costs more than one model may."""
        try:
            with bounded():
                return TemplateMap.of(node.raw, self.project.directory, self.check.opened)
        except OverBudget:
            return None

    def close(self, file: str) -> None:
        self.opened.pop(file, None)

    def take_compiled(self, nodes: Mapping[str, Mapping[str, Any]]) -> None:
        """Takes models as dbt compiled them just now: their compiled text, and what they read."""
        for key, raw in nodes.items():
            node = self.nodes.get(key)
            if (
                node is None
                or not isinstance(raw.get("compiled_code"), str)
                or not isinstance(raw.get("raw_code"), str)
            ):
                continue
            depends_on = raw.get("depends_on")
            listed = depends_on.get("nodes") if isinstance(depends_on, Mapping) else None
            parents = tuple(str(p) for p in listed if p in self.nodes) if isinstance(listed, list) else node.parents
            taken = {name: raw[name] for name in ("raw_code", "compiled_code", "extra_ctes") if name in raw}
            self.judge(evolve(node, parents=parents, raw={**node.raw, **taken}))
            for file, one in list(self.opened.items()):
                if one.unique_id == key:
                    one.judged = str(raw["raw_code"])
                    self.edit(file, one.text)

    def settle(self) -> set[str]:
        """Judges the models downstream of an edit, as far as anything changes for them. Returns the ids of those whose
        findings, or whose schemas for their readers, are different now."""
        done, new = set[str](), set[str]()
        waiting = {one.unique_id for one in self.opened.values()}
        for key in self.project.nodes:
            node = self.nodes[key]
            if key in waiting or not any(parent in waiting or parent in done for parent in node.parents):
                continue
            before, said = self.states.get(key), self._findings_of(key)
            self.judge(node)
            if self.states[key] != before:
                done.add(key)
            if key in done or self._findings_of(key) != said:
                new.add(key)
        return new

    def _findings_of(self, key: str) -> tuple[Finding, ...]:
        report = self.reports.get(key)
        return report.findings if report is not None else ()

    def judge(self, node: ProjectNode) -> None:
        """Judges one model by what its parents left; the check knows what it reads afterwards."""
        key = node.unique_id
        self.nodes[key] = node
        self._read.pop(key, None)
        besides: dict[str, State] = {}
        while True:
            try:
                visit = self.check.judge_alone(node, {**self._collect_states(node), **besides})
                break
            except Wanted as wanted:
                besides |= {other: self.states.get(other, State()) for other in wanted.unique_ids}
        self.states[key] = visit.state
        if visit.report is not None:
            self.reports[key] = visit.report

    def _collect_states(self, node: ProjectNode) -> dict[str, State]:
        parents = self.project.judged_parents(node)
        return {p.unique_id: self.states[p.unique_id] for p in parents if p.unique_id in self.states}

    # --- what is known ----------------------------------------------------------------------------------------------

    def findings(self, file: str) -> list[Placed]:
        """What is wrong with the model, or not proved, at its place in the text of the editor, else of the file."""
        opened, node = self.opened.get(file), self.model(file)
        report = self.reports.get(node.unique_id) if node is not None else None
        if node is None or report is None:
            return []
        if opened is None:
            text = self._compiled_text(node)
            opened = Opened(node.unique_id, text, text)
        told = [f for f in report.findings if f.verdict is not Verdict.PROVED]
        if len(opened.judged) > _MOST_TYPED:
            return [Placed(f, 0, 0, 0) for f in told]
        rows, judged = opened.text.split("\n"), opened.judged.split("\n")
        compared = compare_lines(judged, rows) if opened.text != opened.judged else None
        return [_place(f, file, rows, judged, compared) for f in told]

    def list_violated(self) -> list[str]:
        """The ids of the models that break a promise."""
        return [key for key, report in self.reports.items() if report.of(Verdict.VIOLATED)]

    def find_reading(self, file: str) -> tuple[TemplateMap, LogicalPlan, References] | None:
        """The model's plan and where its text names what; None where there is no plan, or the text in the editor is not
        the one that was planned."""
        node, opened = self.model(file), self.opened.get(file)
        if node is None or opened is None or opened.text != opened.judged:
            return None
        found = self.find_plan(node)
        if found is None:
            return None
        self.check.opened[file] = opened.judged
        mapped = self._map_template(found[0])
        return (mapped, found[1], found[2]) if mapped is not None else None

    def find_plan(self, node: ProjectNode) -> tuple[ProjectNode, LogicalPlan, References] | None:
        """The model as it was judged last, its plan, and where its text names what; None where it has no plan."""
        key = node.unique_id
        if key not in self._read:
            self.judge(node)
            try:
                plan = self.check.plan(node)
                self._read[key] = node, plan, deeply(lambda: References(plan.root))
            except (AnalysisError, Unknown, RecursionError):
                self._read[key] = None
        return self._read[key]

    def path(self, node: ProjectNode) -> Path | None:
        """The file in which a node stands; None where the manifest names none inside of the project."""
        home = self.project.directory
        if home is None or not node.file or not is_within(os.path.realpath(home / node.file), os.path.realpath(home)):
            return None
        return home / node.file


def _place(
    finding: Finding, file: str, rows: Sequence[str], judged: Sequence[str], compared: Sequence[Kept] | None
) -> Placed:
    """The finding at its place in `rows`, the lines of the editor; `compared` to those that were judged, if they are
    others."""
    origin = finding.origin
    if origin is None or origin.file != file:
        return Placed(finding, 0, 0, len(rows[0]))
    line = origin.line - 1
    start, content = origin.column - 1, judged[line]
    if compared is not None:
        line = move_line(compared, line)
        content = rows[line] if line < len(rows) else ""
    stop = start
    while stop < len(content) and (content[stop].isalnum() or content[stop] in "_.`"):
        stop += 1
    start, stop = min(start, len(content)), max(min(start + 1, len(content)), stop)
    units = Lines(content)
    return Placed(finding, line, units.position(start)[1], units.position(stop)[1])


_MOST_TYPED = 1_000_000
"""Characters of a template in an editor, at most: each key that is pressed sends all of them."""
TARGET = "target/planproof/editor"
"""The folder in which dbt writes for the editor. The project's own manifest stays as it is."""

_SECONDS = 300
_SELECTED = 20_000
"""Characters of selections, at most: a command line may not be longer on some systems. More files are a whole project.
"""
_NO_NAME = re.compile(r"[^\w./-]")


class CannotCompile(Exception):
    """Raised where dbt does not compile the models. The message is dbt's."""


def has_dbt() -> bool:
    """Whether dbt 1 is installed beside planproof."""
    try:
        return importlib.util.find_spec("dbt.cli.main") is not None
    except ImportError:
        return False


async def compile_files(location: ProjectLocation, files: Iterable[str]) -> Mapping[str, Mapping[str, Any]]:
    """The nodes of the manifest that dbt compiles from these files, by unique id. Raises `CannotCompile`.

    Neither the cache of relations is filled nor a query run (`--no-populate-cache`, `--no-introspect`): a macro that
    asks the warehouse fails, and the last compile goes on counting.
    """
    folder = Path(location.project_dir or ".").resolve()
    words = ["compile", "--no-populate-cache", "--no-introspect", "--project-dir", str(folder), "--target-path", TARGET]
    profiles = _find_profiles(location, folder)
    words += ["--profiles-dir", str(profiles)] if profiles is not None else []
    words += ["--target", location.target] if location.target is not None else []
    words += select_files(files)
    with tempfile.TemporaryDirectory(prefix="planproof-dbt-") as neutral:
        said, code = await _run(words, neutral)
    if code != 0:
        raise CannotCompile(said)
    try:
        nodes = json.loads(read_regular(folder / TARGET / "manifest.json", LARGEST))["nodes"]
    except (OSError, ValueError, KeyError) as error:
        raise CannotCompile(f"dbt wrote no manifest: {error}") from error
    return {key: node for key, node in nodes.items() if node.get("resource_type") == "model" and node.get("compiled")}


def select_files(files: Iterable[str]) -> list[str]:
    """The words that select these files, none where they are too many. dbt takes a path as a pattern, and ends it at a
    blank and at a comma."""
    words = [word for file in files for word in ("--select", f"path:{_NO_NAME.sub('?', file)}")]
    return words if sum(map(len, words)) <= _SELECTED else []


def _find_profiles(location: ProjectLocation, folder: Path) -> Path | None:
    """Where dbt, started in the project's folder, would look for profiles; None where it looks in the user's own."""
    said = location.profiles_dir or os.environ.get("DBT_PROFILES_DIR")
    if said:
        return Path(said).resolve()
    return folder if (folder / "profiles.yml").is_file() else None


async def _run(words: Iterable[str], neutral: str) -> tuple[str, int | None]:
    """The end of what dbt says, and its exit code. It is started in a `neutral` folder: what it starts itself imports
    from there."""
    try:
        work = await asyncio.create_subprocess_exec(
            *python_command(sys.executable, "dbt.cli.main", "cli", "--no-use-colors", *words),
            cwd=neutral,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=python_environment(os.environ, PLANPROOF="off"),
        )
    except OSError as error:
        raise CannotCompile(f"dbt cannot be started: {error}") from error
    try:
        said, _ = await asyncio.wait_for(work.communicate(), _SECONDS)
    except asyncio.TimeoutError:
        work.kill()
        raise CannotCompile(f"dbt compile took more than {_SECONDS} s") from None
    except asyncio.CancelledError:
        work.kill()
        raise
    return said.decode("utf-8", "replace").strip()[-2000:], work.returncode
