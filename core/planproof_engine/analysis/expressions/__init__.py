"""From a tree of an expression to a typed expression: one binder for each kind of node."""
