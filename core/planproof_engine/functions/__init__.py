"""Spark's functions: signatures and traits as literal tables, and how arguments are coerced."""
