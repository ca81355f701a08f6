"""How a publish that stopped on its way may end."""

from __future__ import annotations

from typing import Literal

Ending = Literal["finished", "undone", "left"]
