"""Publishes whose table decides by its own log whether they are committed: a note says what they write, so that what a
kill leaves can be settled. Nothing is locked or journaled."""

from planproof.publish.notes.format import NotedFormat
from planproof.publish.notes.note import Note, QuarantinedFiles
from planproof.publish.notes.notebook import Left, Notebook, sweep_earlier
from planproof.publish.notes.publication import NotedPublication, Stage
from planproof.publish.notes.quarantine import NotedQuarantine, delete_rows
