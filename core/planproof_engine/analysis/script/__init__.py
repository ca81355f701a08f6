"""Statements around queries: settings, variables, views, functions, EXECUTE IMMEDIATE."""
