"""Publishes whose table decides by its own log whether they are committed: a note says what they write, so that what a
kill leaves can be settled. Nothing is locked or journaled."""
