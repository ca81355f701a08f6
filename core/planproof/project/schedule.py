"""The order in which the nodes of a project are judged, and where: in the cache, this process, or processes beside it.
These are forked, so that they know the project, and told what parents left.

A node is judged by what its parents left and nothing else, so that its report is the same wherever it is made.
"""

from __future__ import annotations

import heapq
import os
import pickle
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from planproof.judge.draft import TOO_LARGE
from planproof.project import Cache, ProjectNode
from planproof.project.finished import Earlier
from planproof.project.garbage import reduce_collections
from planproof.project.offline import OfflineCheck
from planproof.project.reads import note_unrepeatable
from planproof.project.remembered import JudgedNode, JudgementCache
from planproof.project.state import State, Unportable, Wanted
from planproof.report import Report

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


class Question(NamedTuple):
    """A node to judge: its unique id, what others left, and what of it changed since dbt compiled it."""

    key: str
    left: Mapping[str, State]
    changed: str | None


Lot = list[Question]
Answer = JudgedNode | Wanted | BaseException | None


def can_fork() -> bool:
    """Whether a copy of this process can go on: on Linux, and with no thread beside this one, of C's neither."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def count_cores() -> int:
    """How many processes can run at once, as this one may."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers:
    """`count` processes. Each gets a lot of models, and no other one before it answered."""

    def __init__(self, check: OfflineCheck, count: int) -> None:
        import multiprocessing

        self._has: dict[Connection, Lot] = {}
        self.idle: list[Connection] = []
        self._lost: Lot = []
        self._started = []
        context = multiprocessing.get_context("fork")
        for _ in range(count):
            ours, theirs = context.Pipe()
            started = context.Process(target=_work, args=(check, theirs, [ours, *self.idle]), daemon=True)
            started.start()
            theirs.close()
            self._started.append(started)
            self.idle.append(ours)

    @property
    def busy(self) -> bool:
        return bool(self._has or self._lost)

    @property
    def alive(self) -> bool:
        return bool(self.idle or self.busy)

    def send(self, lot: Lot) -> None:
        one = self.idle.pop()
        try:
            one.send(lot)
        except OSError:
            one.close()
            self._lost += lot
            return
        self._has[one] = lot

    def receive_answers(self) -> Iterator[tuple[str, Answer]]:
        """What was judged since, once something was; None for a model whose process is gone."""
        from multiprocessing.connection import Connection, wait

        for connection in wait(list(self._has)) if self._has and not self._lost else ():
            assert isinstance(connection, Connection)
            lot = self._has.pop(connection)
            try:
                found = connection.recv()
            except (EOFError, OSError):
                connection.close()
                self._lost += lot
                continue
            self.idle.append(connection)
            yield from found
        lost, self._lost = self._lost, []
        yield from ((question.key, None) for question in lost)

    def stop(self) -> None:
        for connection in (*self.idle, *self._has):
            connection.close()
        for one in self._started:
            one.terminate()
            one.join()


def _work(check: OfflineCheck, connection: Connection, others: list[Connection]) -> None:
    for other in others:
        other.close()
    try:
        while True:
            lot: Lot = connection.recv()
            connection.send([(question.key, _answer(check, question)) for question in lot])
    except (EOFError, OSError, KeyboardInterrupt):
        return


def judge_node(check: OfflineCheck, question: Question) -> JudgedNode:
    """The judgement of a node. Raises what `OfflineCheck.judge_alone` does."""
    node = check.project.nodes[question.key]
    return JudgedNode.of(node, check.judge_alone(node, question.left, question.changed), is_brief=check.is_brief)


def _answer(check: OfflineCheck, question: Question) -> Answer:
    try:
        return judge_node(check, question)
    except Wanted as wanted:
        return wanted
    except Exception as error:  # It is raised again by the one who asked.
        return _make_portable(error)


def _make_portable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


FEW = 24
"""So many models are judged in this process before others are started: a start costs as much as it saves for fewer."""

MOST_ROUNDS = 20
"""So often a node is begun anew because its text reads one that was not judged: `identifier(..)` hides names."""


class Schedule:
    """The judgement of `needed` nodes of a project, and of what their texts read besides."""

    def __init__(
        self, check: OfflineCheck, needed: Iterable[str], cache: Cache | None, jobs: int, earlier: Earlier | None = None
    ) -> None:
        self.check, self.project = check, check.project
        self.states: dict[str, State] = {}
        self.remembered = JudgementCache(check, cache, self.states, earlier) if cache is not None else None
        self.jobs, self.workers = jobs if can_fork() else 1, None
        self._order = {key: i for i, key in enumerate(self.project.nodes)}
        self._asked_for: dict[str, dict[str, None]] = {}
        self._keys: dict[str, bytes | None] = {}
        self._changes: dict[str, str | None] = {}
        self._found: dict[str, Report | None] = {}
        self._rounds: dict[str, int] = {}
        self._missing: dict[str, int] = {}
        self._waiting: dict[str, list[str]] = {}
        self._ready: list[int] = []
        self._nodes = list(self.project.nodes.values())
        self._to_judge: list[ProjectNode] = []
        self._judged = 0
        self._add(needed)

    def reports(self) -> dict[str, Report]:
        """The models' reports, what a model reads before it. Raises `ProjectError`."""
        try:
            with reduce_collections():
                self._run()
        except Unportable:
            self._judge_in_turn()
        finally:
            self._end()
        self.check.unread = {key: s.unread for key, s in self.states.items() if s.unread is not None}
        return {key: report for key in self._sort_nodes() if (report := self._found[key]) is not None}

    workers: Workers | None

    def _run(self) -> None:
        while self._ready or self._to_judge or (self.workers is not None and self.workers.busy):
            while self._ready:
                self._begin(self._nodes[heapq.heappop(self._ready)])
            self._judge()
        if len(self._found) < len(self._missing):
            self._judge_in_turn()

    # --- what can be judged -----------------------------------------------------------------------------------------

    def _add(self, keys: Iterable[str]) -> None:
        """Nodes whose parents, as far as they are not known, are added too."""
        new = sorted({k for k in keys if k not in self._missing}, key=self._order.__getitem__)
        self._missing |= dict.fromkeys(new, 0)
        for key in new:
            self._wait(key, (p for p in self.project.nodes[key].parents if p in self._missing))
        for key in new:
            if not self._missing[key]:
                heapq.heappush(self._ready, self._order[key])

    def _wait(self, key: str, others: Iterable[str]) -> None:
        for other in others:
            if other not in self._found:
                self._missing[key] += 1
                self._waiting.setdefault(other, []).append(key)

    def _add_parents(self, node: ProjectNode, unique_ids: Iterable[str]) -> None:
        """The node's text reads others that have not been judged yet."""
        key = node.unique_id
        self._asked_for.setdefault(key, {}).update(dict.fromkeys(unique_ids))
        left = [other for other in unique_ids if other not in self._found]
        if not left:
            self._to_judge.append(node)
            return
        self._add([*self.project.ancestors(left), *left])
        self._wait(key, left)

    def _record(self, node: ProjectNode, state: State, report: Report | None) -> None:
        key = node.unique_id
        self.states[key], self._found[key] = state, report
        for other in self._waiting.pop(key, ()):
            self._missing[other] -= 1
            if not self._missing[other]:
                heapq.heappush(self._ready, self._order[other])

    # --- one node ---------------------------------------------------------------------------------------------------

    def _begin(self, node: ProjectNode) -> None:
        if node.kind != "model":
            self._keep(node, self._judge_one(node))
            return
        self._changes[node.unique_id] = self.check.files.find_change(node)
        try:
            known = self._read_cache(node)
        except Wanted as wanted:
            return self._add_parents(node, wanted.unique_ids)
        if known is not None:
            self._asked_for.setdefault(node.unique_id, {}).update(dict.fromkeys(known.besides))
            report = known.load_report(node)
            if self.remembered is not None:
                self.remembered.take(report, self._keys[node.unique_id], known.head, known.form)
            return self._record(node, known.state, report)
        self._to_judge.append(node)

    def _read_cache(self, node: ProjectNode) -> JudgedNode | None:
        if self.remembered is None:
            return None
        key = self._keys[node.unique_id] = self.remembered.compute_key(node, self._changes[node.unique_id])
        return self.remembered.find(node, key) if key is not None else None

    def _collect_states(self, node: ProjectNode) -> dict[str, State]:
        """What is known of the nodes that a text reads."""
        keys = [*(p.unique_id for p in self.project.judged_parents(node)), *self._asked_for.get(node.unique_id, ())]
        return {key: self.states[key] for key in keys}

    def _ask(self, node: ProjectNode) -> Question:
        return Question(node.unique_id, self._collect_states(node), self._changes.get(node.unique_id))

    def _judge_again(self, node: ProjectNode, wanted: Wanted) -> None:
        """Begins a node anew, once what its text reads is judged. Raises `Unportable` where that has no end."""
        key = node.unique_id
        self._rounds[key] = self._rounds.get(key, 0) + 1
        if self._rounds[key] > MOST_ROUNDS:
            raise Unportable(f"{key} names what it reads one by one")
        self._add_parents(node, wanted.unique_ids)

    def _judge_one(self, node: ProjectNode) -> JudgedNode:
        return judge_node(self.check, self._ask(node))

    def _keep(self, node: ProjectNode, judged: JudgedNode) -> None:
        key, report = self._keys.get(node.unique_id), judged.load_report(node)
        if report is not None and any(finding.code == TOO_LARGE for finding in report.findings):
            key = None
            note_unrepeatable()
        if self.remembered is not None and key is not None and judged.small:
            self.remembered.take(report, key, self.remembered.keep(node, key, judged), None)
        self._record(node, judged.state, report)

    # --- by whom ----------------------------------------------------------------------------------------------------

    def _judge(self) -> None:
        """Judges some of what the cache does not know: in this process at first, then beside it."""
        if self.jobs > 1 and self.workers is None and self._judged >= FEW and len(self._to_judge) > 1:
            self._fork()
        if self.workers is None or not self.workers.alive:
            if self._to_judge:
                self._judge_here(self._to_judge.pop(0))
            return
        while self._to_judge and self.workers.idle:
            size = max(1, min(8, len(self._to_judge) // (2 * self.jobs)))
            lot, self._to_judge = self._to_judge[:size], self._to_judge[size:]
            self.workers.send([self._ask(node) for node in lot])
        for key, answer in self.workers.receive_answers():
            node = self.project.nodes[key]
            if isinstance(answer, JudgedNode):
                self._keep(node, answer)
            elif isinstance(answer, Wanted):
                self._judge_again(node, answer)
            elif answer is None:  # Whoever had it is gone.
                self._to_judge.append(node)
            else:
                raise answer

    def _judge_here(self, node: ProjectNode) -> None:
        self._judged += 1
        try:
            judged = self._judge_one(node)
        except Wanted as wanted:
            return self._judge_again(node, wanted)
        self._keep(node, judged)

    def _fork(self) -> None:
        if not can_fork():
            self.jobs = 1
            return
        if self.remembered is not None:
            self.remembered.cache.close_file()
        self.workers = Workers(self.check, self.jobs)

    def _end(self) -> None:
        if self.workers is not None:
            self.workers.stop()
        if self.remembered is not None:
            self.remembered.cache.close()

    # --- what reads itself in a circle ------------------------------------------------------------------------------

    def _judge_in_turn(self) -> None:
        """Nodes that wait for each other, or that cannot be sent to another process, are judged in the manifest's
        order."""
        check = self.check
        check.forget()
        check.take(self.states)
        for key in sorted(self._missing.keys() - self._found.keys(), key=self._order.__getitem__):
            self._found[key] = check.visit(self.project.nodes[key])
        for key, said in check.unread.items():
            self.states.setdefault(key, State(unread=said))

    def _sort_nodes(self) -> Iterator[str]:
        """The nodes in the manifest's order, each after what it reads, listed among its parents or not."""
        seen: set[str] = set()
        waiting = [(key, False) for key in sorted(self._found, key=self._order.__getitem__, reverse=True)]
        while waiting:
            key, is_next = waiting.pop()
            if is_next:
                yield key
            elif key not in seen and key in self._found:
                seen.add(key)
                waiting.append((key, True))
                read = (*self.project.nodes[key].parents, *self._asked_for.get(key, ()))
                waiting += [(other, False) for other in reversed(read)]
