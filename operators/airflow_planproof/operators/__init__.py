"""Operators, one per file."""
