"""How planproof starts a Python of its own: one that imports nothing from the folder in which it is started.

`python -c` and `python -m` put that folder before all others, and so does an empty part of $PYTHONPATH. A project whose
folder holds a `dbt/` or a `yaml.py` would run that code as soon as somebody opens a file of it. Python 3.11 has `-P`
against the first half of this; 3.10 has not. Use `python_command` and `python_environment` together.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

_START = (
    "import os, sys; sys.path[:] = [p for p in sys.path if os.path.isabs(p)]; "
    "from importlib import import_module; sys.argv[:] = sys.argv[1:]; "
    "name, call = sys.argv.pop(0), sys.argv.pop(0); sys.argv.insert(0, name); "
    "module = import_module(name); sys.exit(getattr(module, call)() if call else 0)"
)


def python_command(python: str | Sequence[str], module: str, function: str = "", *words: str) -> list[str]:
    """The command that calls a function without arguments of a module, with `words` as its command line, in the named
    interpreter. What it returns is the exit code. Without a function the module is imported, and no more."""
    return [*([python] if isinstance(python, str) else python), "-c", _START, module, function, *words]


def python_environment(environment: Mapping[str, str], **changes: str) -> dict[str, str]:
    """The environment for such a process, and those that it starts: $PYTHONPATH names no folder that depends on where
    they are started. On Python 3.10 its own children (`multiprocessing`) still look there: start it in a folder of its
    own."""
    found = {**environment, **changes, "PYTHONSAFEPATH": "1"}
    if "PYTHONPATH" in found:
        found["PYTHONPATH"] = os.pathsep.join(filter(os.path.isabs, found["PYTHONPATH"].split(os.pathsep)))
    return found
