"""Which expressions of a template surely print one line, as far as the template itself tells."""

from __future__ import annotations

from jinja2 import nodes

_RELATIONS = frozenset(("ref", "source"))
_OF_DBT = frozenset(("this", "target", "loop"))


class OneLine:
    """Whether an expression prints one line: a constant, a name bound to constants alone, a relation's name."""

    def __init__(self, tree: nodes.Template) -> None:
        self._bound: dict[str, list[nodes.Node | None]] = {}
        handled = set()
        for assignment in tree.find_all(nodes.Assign):
            if isinstance(assignment.target, nodes.Name):
                handled.add(id(assignment.target))
                self._bound.setdefault(assignment.target.name, []).append(assignment.node)
        for loop in tree.find_all(nodes.For):
            if isinstance(loop.target, nodes.Name):
                handled.add(id(loop.target))
                self._bound.setdefault(loop.target.name, []).append(loop.iter)
        for name in tree.find_all(nodes.Name):
            if name.ctx != "load" and id(name) not in handled:
                self._bound.setdefault(name.name, []).append(None)

    def __contains__(self, expr: nodes.Node) -> bool:
        return self._is_one_line(expr, frozenset())

    def _is_one_line(self, expr: nodes.Node | None, within: frozenset[str]) -> bool:
        if isinstance(expr, nodes.Const):
            return "\n" not in str(expr.value) and "\r" not in str(expr.value)
        if isinstance(expr, (nodes.List, nodes.Tuple)):
            # Its members, one at a time, in a loop; printed whole, Python quotes their line ends.
            return all(self._is_one_line(item, within) for item in expr.items)
        if isinstance(expr, nodes.Call):
            return isinstance(expr.node, nodes.Name) and expr.node.name in _RELATIONS - self._bound.keys()
        if isinstance(expr, nodes.Getattr):
            return isinstance(expr.node, nodes.Name) and expr.node.name in _OF_DBT - self._bound.keys()
        if not isinstance(expr, nodes.Name) or expr.name in within:
            return False
        values = self._bound.get(expr.name)
        if values is None:
            return expr.name == "this"
        return all(self._is_one_line(value, within | {expr.name}) for value in values)
