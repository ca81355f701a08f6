"""Calls and lambdas."""

from __future__ import annotations

from collections.abc import Sequence

from planproof_engine.sql.nodes.names import Identifier, IdentifierClause
from planproof_engine.sql.tree import Node, node


@node
class Ordered(Node):
    """`key [DESC] [NULLS FIRST]`: `nulls_first` is None where nothing is said."""

    key: Node
    desc: bool = False
    nulls_first: bool | None = None


@node
class WindowFrame(Node):
    """A window's frame: `kind` is ROWS or RANGE.

    A bound is UNBOUNDED, CURRENT ROW or an expression; its side is PRECEDING, FOLLOWING, or None of CURRENT ROW.
    """

    kind: str
    start: Node | str
    start_side: str | None
    end: Node | str | None = None
    end_side: str | None = None


@node
class Window(Node):
    """`OVER (PARTITION BY .. ORDER BY .. frame)`, or `OVER reference`; `cluster` for CLUSTER BY."""

    partition_by: Sequence[Node] = ()
    order: Sequence[Ordered] = ()
    frame: WindowFrame | None = None
    reference: Identifier | None = None
    cluster: bool = False


@node
class Call(Node):
    """`f(arguments)`, with all that may follow its parentheses.

    `name` is as written, with the dots of a name of several `parts`; these are given for such a name and a quoted one.
    `distinct` is True for DISTINCT, False for ALL; `nulls` is IGNORE or RESPECT.
    """

    name: str | IdentifierClause
    arguments: Sequence[Node] = ()
    parts: tuple[str, ...] | None = None
    distinct: bool | None = None
    within_group: Sequence[Ordered] = ()
    filter: Node | None = None
    nulls: str | None = None
    over: Window | None = None


@node
class SpecialCall(Call):
    """A call with a syntax of its own, which `form` names: see the table in `planproof_engine.sql`.

    `side` is that of TRIM; `unit` a unit of time in upper case, and `written` that in the text.
    """

    form: str = ""
    side: str | None = None
    unit: str = ""
    written: str = ""


@node
class Lambda(Node):
    """`parameters -> body`."""

    parameters: Sequence[Identifier]
    body: Node


@node
class Kwarg(Node):
    """`name => value`, in a call."""

    name: Identifier
    value: Node
