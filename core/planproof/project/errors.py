"""The errors of this room."""

from __future__ import annotations


class ProjectError(ValueError):
    """A project, manifest, selection or contract file that cannot be read: the message says where, and what next."""


class UnreadableContract(ProjectError):
    """The contract of one model that cannot be read: it says nothing of the others."""
