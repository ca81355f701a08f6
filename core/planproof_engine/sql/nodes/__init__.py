"""The node classes of a text's tree.

The shapes, construct by construct, are listed in the docstring of `planproof_engine.sql`; the nodes of statements that
are no queries are `planproof_engine.sql.commands`.
"""

from planproof_engine.sql.nodes.expressions import *
from planproof_engine.sql.nodes.queries import *
from planproof_engine.sql.tree import Node
