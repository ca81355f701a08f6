"""How long the language server takes for one changed model of a project, from the text to its findings.

    python tests/benchmarks/editor.py [--models 500] [--edits 100]

The project is that of scale.py. Timed is, first, what the server does for a key stroke: the edit is carried into the
compiled text, the model is judged, its findings are placed; CPU time of this process, so that the machine's load counts
less. Then what an editor waits, by the clock: a process of its own gets the changed text and the save of it, and sends
the findings. While somebody types the server waits for a pause (`planproof.lsp.server.PAUSE`), which comes on top.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import scale
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from planproof.lsp.workspace import Workspace
from planproof.project.location import ProjectLocation


def edits_of(folder: Path, workspace: Workspace, edits: int) -> Iterator[tuple[str, str, str]]:
    """Files with their text and a changed one; each leaves another schema behind, and its lines moved."""
    models = workspace.project.models
    for i in range(edits):
        file = models[(i * 37) % len(models)].file
        assert file is not None
        text = (folder / file).read_text()
        yield file, text, text.replace("customer_id", f"customer_id -- {i}\n", 1)


def judged(workspace: Workspace, edits: list[tuple[str, str, str]]) -> list[float]:
    """CPU milliseconds per edit."""
    found = []
    for file, text, changed in edits:
        workspace.edit(file, text)
        began = time.process_time()
        assert workspace.edit(file, changed)
        workspace.findings(file)
        found.append(1000 * (time.process_time() - began))
    return found


async def shown(folder: Path, edits: list[tuple[str, str, str]]) -> list[float]:
    """Milliseconds by the clock, from the save of a changed text to its findings at an editor."""
    client, told = LanguageClient("benchmark", "1"), asyncio.Queue[str]()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def heard(params: lsp.PublishDiagnosticsParams) -> None:
        told.put_nowait(params.uri)

    async def waited(uri: str) -> None:
        while await told.get() != uri:
            pass

    words = ["-m", "planproof", "lsp", "--stdio", "--no-dbt", "--no-cache", "--project-dir", str(folder)]
    await client.start_io(sys.executable, *words)
    await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities(), root_uri=folder.as_uri()))
    client.initialized(lsp.InitializedParams())
    found = []
    for number, (file, text, changed) in enumerate(edits):
        uri = (folder / file).as_uri()
        client.text_document_did_open(
            lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "jinja-sql", 2 * number, text))
        )
        await waited(uri)
        version = lsp.VersionedTextDocumentIdentifier(2 * number + 1, uri)
        whole = lsp.TextDocumentContentChangeWholeDocument(changed)
        began = time.perf_counter()
        client.text_document_did_change(lsp.DidChangeTextDocumentParams(version, [whole]))
        client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        await waited(uri)
        found.append(1000 * (time.perf_counter() - began))
        client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        await waited(uri)
        while not told.empty():
            told.get_nowait()
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return found


def line(title: str, found: list[float]) -> str:
    found = sorted(found)
    return (
        f"{title:<40} median {statistics.median(found):5.1f} ms, 95 % within {found[int(0.95 * len(found))]:5.1f} ms, "
        f"longest {found[-1]:5.1f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=500)
    parser.add_argument("--edits", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scale.Grown(folder, given.models)
        workspace = Workspace(ProjectLocation(folder))
        workspace.load()
        edits = list(edits_of(folder, workspace, given.edits))
        print(f"{given.models} models, {given.edits} edits")
        print(line("judged, of the processor", judged(workspace, edits)))
        print(line("from the save to the findings, the clock", asyncio.run(shown(folder, edits))))


if __name__ == "__main__":
    main()
