"""From a query to plan nodes, clause by clause."""
