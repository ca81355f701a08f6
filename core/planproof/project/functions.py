"""Python functions by the name of the module that holds them: `module:name`, as a command line gives it.

Only the person who runs planproof names a module. A manifest cannot: importing is running code.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planproof_engine import record
from planproof_engine.python_functions import DeclarationError

if TYPE_CHECKING:
    from planproof.guard import Guard
    from planproof.session import Session


def load(place: str, folder: Path) -> Mapping[str, Any]:
    """The functions at `module:name`: a mapping of names to functions, or one function under its own name.

    The module is looked for in `folder` too. Raises `DeclarationError`.
    """
    module, colon, name = place.partition(":")
    if not colon or not module or not name:
        raise DeclarationError(f"{place!r} is not module:name, such as udfs:FUNCTIONS")
    path = str(folder.resolve())
    if path not in sys.path:
        sys.path.append(path)
    try:
        imported = importlib.import_module(module)
    except Exception as error:  # The module is the user's: whatever it raises is about it.
        raise DeclarationError(f"{place!r}: cannot import {module}: {type(error).__name__}: {error}") from error
    found = getattr(imported, name, None)
    if found is None:
        raise DeclarationError(f"{place!r}: the module {module} has no {name}")
    return {str(key): function for key, function in found.items()} if isinstance(found, Mapping) else {name: found}


@record(frozen=True, slots=True)
class LoadedFunctions:
    """Functions of a command line, with the files that workers need to have."""

    functions: Mapping[str, Any]
    files: tuple[str, ...]

    @classmethod
    def of(cls, places: Sequence[str], folder: Path) -> LoadedFunctions:
        """The functions at all `module:name`s. Raises `DeclarationError`."""
        found: dict[str, Any] = {}
        for place in places:
            found |= load(place, folder)
        files = {find_source(function, folder) for function in found.values()}
        return cls(found, tuple(sorted(f for f in files if f is not None)))

    def make_guard(self, session: Session) -> Guard:
        """A guard that knows the functions. Raises `SparkFailure`."""
        from planproof.guard import Guard

        for file in self.files:
            session.ship(file)
        return Guard(session, functions=self.functions)


def find_source(function: Any, folder: Path) -> str | None:
    """The file of the module that defines the function, where workers may not find it: one module in `folder`."""
    call = getattr(function, "call", None) or getattr(function, "func", None) or function
    module = sys.modules.get(getattr(call, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if file is None or Path(file).resolve().parent != folder.resolve():
        return None
    return str(Path(file).resolve())
