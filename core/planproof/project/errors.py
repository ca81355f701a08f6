"""The one error of this room."""

from __future__ import annotations


class ProjectError(ValueError):
    """A project, manifest, selection or contract file that cannot be read: the message says where, and what next."""
