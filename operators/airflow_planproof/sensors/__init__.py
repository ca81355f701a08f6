"""Sensors, one per file."""
