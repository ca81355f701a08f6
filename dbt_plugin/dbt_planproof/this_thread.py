"""What one of dbt's threads works on."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt_planproof.dbts import Node
    from dbt_planproof.states import NodeState
    from planproof.guard import Guard
    from planproof.publish.data_tests.trial import StagedRows
    from planproof.session.thrift import ThriftSession


class ThisThread(threading.local):
    """The node that the thread runs, and its state where the gate looks at it; the rows over which dbt compiles a test;
    over Thrift, where each thread has a connection of its own, the session on it and the guard."""

    node: Node | None = None
    state: NodeState | None = None
    staged: StagedRows | None = None
    session: ThriftSession | None = None
    guard: Guard | None = None

    @property
    def running(self) -> NodeState | None:
        """The node's state, while its statements are gated."""
        return self.state if self.state is not None and self.state.is_open else None

    def change(self, state: NodeState, **known: Any) -> NodeState:
        """The node's next state: `state`, with what is known now."""
        self.state = replace(state, **known)
        return self.state

    @contextmanager
    def hide_node(self) -> Iterator[None]:
        """Within the block the statements of the thread are dbt's own."""
        node, state = self.node, self.state
        self.node = self.state = None
        try:
            yield
        finally:
            self.node, self.state = node, state
