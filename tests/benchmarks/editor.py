"""How long the language server takes for one changed model of a project, from the text to its findings.

    python tests/benchmarks/editor.py [--models 500] [--edits 100]

The project is that of scale.py. Timed is what the server does for a key stroke: the edit is carried into the compiled
text, the model is judged, its findings are placed; CPU time of this process, so that the machine's load counts less.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import scale

from planproof.lsp.workspace import Workspace
from planproof.project.place import Place


def measured(models: int, edits: int) -> list[float]:
    """CPU milliseconds per edit."""
    with tempfile.TemporaryDirectory() as folder:
        scale.Grown(Path(folder), models)
        workspace = Workspace(Place(Path(folder)))
        workspace.load()
        found = []
        for i in range(edits):
            node = workspace.project.models[(i * 37) % models]
            assert node.file is not None
            text = (Path(folder) / node.file).read_text()
            workspace.edit(node.file, text)
            began = time.process_time()
            assert workspace.edit(node.file, text.replace("customer_id", f"customer_id -- {i}\n", 1))
            workspace.findings(node.file)
            found.append(1000 * (time.process_time() - began))
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=500)
    parser.add_argument("--edits", type=int, default=100)
    given = parser.parse_args()
    found = sorted(measured(given.models, given.edits))
    print(f"{given.models} models, {given.edits} edits: median {statistics.median(found):.1f} ms, ", end="")
    print(f"95 % within {found[int(0.95 * len(found))]:.1f} ms, longest {found[-1]:.1f} ms of CPU")


if __name__ == "__main__":
    main()
