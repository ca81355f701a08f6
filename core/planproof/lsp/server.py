"""The language server itself: the protocol's messages to and from a `Workspace`.

No header and no message that an editor sends may be larger than memory: its bytes are looked at before pygls reads
them. A request that cannot be read is answered, as an editor waits for it.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from lsprotocol import types as lsp
from lsprotocol.types import EXIT
from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest, JsonRpcParseError
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.uris import from_fs_path, to_fs_path

from planproof.lsp import answers
from planproof.lsp.workspace import CannotCompile, Placed, Workspace, compile_files, has_dbt
from planproof.project.manifest import MANIFEST
from planproof.project.reads import LARGEST, ProjectError
from planproof.regular import read_regular, real_path
from planproof.report.parts import message_of, neutralize
from planproof_engine import Verdict, evolve


class AnsweringProtocol(LanguageServerProtocol):
    """pygls drops a request whose parameters are none of its method's (a line of -1), and any that is malformed."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """pygls asks this of each object within a message: the message alone is one, and is known at its end."""
        return data

    def handle_message(self, message: Any) -> None:
        data = message if isinstance(message, dict) else {}
        is_answer = "method" not in data and not data.keys().isdisjoint(("result", "error"))
        is_notification = "method" in data and "id" not in data
        try:
            super().handle_message(self._read(data, is_answer))
        except JsonRpcException as error:
            if not is_answer and not is_notification:
                self.refuse(data.get("id"), error)

    def _read(self, data: dict[str, Any], is_answer: bool) -> Any:
        if data.get("jsonrpc") != self.VERSION:
            raise JsonRpcInvalidRequest("it is no message of JSON-RPC 2.0")
        if not is_answer and not isinstance(data.get("method"), str):
            raise JsonRpcInvalidRequest("it names no method")
        if self._shutdown and data.get("method") != EXIT:
            raise JsonRpcInvalidRequest("the server is shutting down")
        message = super().structure_message(data)
        if not is_answer and not hasattr(message, "method"):
            raise JsonRpcInvalidRequest("it is a request and an answer")
        return message

    def refuse(self, number: Any, error: JsonRpcException) -> None:
        """Answers a request; without a number where it has none that could be read."""
        is_number = isinstance(number, (str, int)) and not isinstance(number, bool)
        said = {"code": error.code, "message": error.message}
        self._send_data({"jsonrpc": self.VERSION, "id": number if is_number else None, "error": said})


_HEADER = 2**12
_MESSAGE = 2**28
"""Bytes, at most: an editor sends whole files."""
_LENGTH = b"Content-Length: "


class BoundedInput:
    """Standard input that ends, and says why, where a header or the message that it tells of is too large. pygls would
    ask for as much memory, and wait."""

    def __init__(self, stdin: BinaryIO) -> None:
        self._stdin = stdin

    def readline(self) -> bytes:
        line = self._stdin.readline(_HEADER)
        length = line.removeprefix(_LENGTH).strip()
        if len(line) == _HEADER or (line.startswith(_LENGTH) and length.isdigit() and int(length) > _MESSAGE):
            said = f"a header of {_HEADER:,} bytes, or a message of {_MESSAGE:,} bytes, is more than an editor sends"
            print(f"planproof lsp ends: {said}", file=sys.stderr)
            return b""
        return line

    def read(self, size: int) -> bytes:
        return self._stdin.read(size)


def bound_input(stdin: BinaryIO) -> BinaryIO:
    """The same as pygls takes it: of a stream it calls these two methods alone."""
    return cast(BinaryIO, BoundedInput(stdin))


T = TypeVar("T")

PAUSE = 0.15
"""Seconds without a key after which a text is judged."""

_SEVERITY = {
    Verdict.VIOLATED: lsp.DiagnosticSeverity.Error,
    Verdict.UNPROVED: lsp.DiagnosticSeverity.Warning,
    Verdict.WARNING: lsp.DiagnosticSeverity.Information,
}


class Server(LanguageServer):
    """Answers an editor. One thread of its own uses the workspace, so that the event loop stays free to read
    messages."""

    protocol: AnsweringProtocol

    def __init__(self, workspace: Workspace, compiles: bool = True, anywhere: bool = False) -> None:
        super().__init__("planproof", version("planproof"), protocol_cls=AnsweringProtocol)
        self.models, self.compiles, self._anywhere = workspace, compiles and has_dbt(), anywhere
        self._one = ThreadPoolExecutor(1, thread_name_prefix="planproof")
        self._pauses: dict[str, asyncio.Task[None]] = {}
        self._turn = asyncio.Lock()
        self._saved: set[str] = set()
        self._compiling: asyncio.Task[None] | None = None
        self._loaded: float | None = None

    async def ask(self, question: Callable[..., T], *given: Any) -> T:
        """Runs a question about the workspace, after those that were asked before; the last compile is read first."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._one, self._answer, question, given)

    def _answer(self, question: Callable[..., T], given: tuple[Any, ...]) -> T:
        written = self._compile_time()
        if self._loaded is None or written != self._loaded:
            self._load()
            self._loaded = written
        return question(*given)

    def _load(self) -> None:
        """Reads the last compile, and keeps its objects out of later collections, which would delay answers."""
        gc.unfreeze()
        self.models.load()
        gc.collect()
        gc.freeze()

    def _compile_time(self) -> float:
        location = self.models.location
        try:
            return (location.manifest or location.folder / MANIFEST).stat().st_mtime
        except (OSError, ProjectError):
            return 0.0

    def take_root(self, uris: Iterable[str | None]) -> None:
        """Takes the first of the editor's folders that is a dbt project, where the command line named none."""
        for uri in uris if self._anywhere else ():
            path = to_fs_path(uri) if uri is not None else None
            if path is not None and (Path(path) / "dbt_project.yml").is_file():
                self.models.location = evolve(self.models.location, project_dir=Path(path))
                return

    def file(self, uri: str) -> str | None:
        """The path from the project's directory, as the manifest has it; None of a file elsewhere."""
        home = real_path(Path(self.models.location.project_dir or "."))
        try:
            path = to_fs_path(uri)
            found = real_path(Path(path)) if path is not None else None
        except ValueError:  # A name that no file has.
            return None
        return found.relative_to(home).as_posix() if found is not None and found.is_relative_to(home) else None

    # --- what changes -----------------------------------------------------------------------------------------------

    def judge_later(self, uri: str, pause: float = PAUSE) -> None:
        """Judges the text after a pause; a further change begins the pause anew, also while another text is judged."""
        self.forget_change(uri)
        self._pauses[uri] = asyncio.ensure_future(self._after(uri, pause))

    def forget_change(self, uri: str) -> None:
        before = self._pauses.pop(uri, None)
        if before is not None:
            before.cancel()

    async def _after(self, uri: str, pause: float) -> None:
        await asyncio.sleep(pause)
        async with self._turn:
            self._pauses.pop(uri, None)
            file = self.file(uri)
            # Of a file that is not open pygls would read what lies there.
            if file is None or uri not in self.workspace.text_documents:
                return
            try:
                await self.ask(self.models.edit, file, self.workspace.get_text_document(uri).source)
                await self.publish(uri)
            except ProjectError as error:
                self.log(str(error))

    async def publish(self, uri: str) -> None:
        file = self.file(uri)
        found = await self.ask(self.models.findings, file) if file is not None else []
        shown = [make_diagnostic(placed) for placed in found]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, shown))

    async def publish_all(self, besides: Iterable[str] = ()) -> None:
        """The findings of all files that are open, and of the models `besides`."""
        for uri in list(self.workspace.text_documents):
            await self.publish(uri)
        await self.publish_closed(besides)

    async def publish_closed(self, keys: Iterable[str]) -> None:
        """The findings of those of these models whose files are not open."""
        for key in keys:
            path = await self.ask(self._path, key)
            uri = from_fs_path(str(real_path(path))) if path is not None else None
            if uri is not None and uri not in self.workspace.text_documents:
                await self.publish(uri)

    def _path(self, key: str) -> Path | None:
        return self.models.path(self.models.nodes[key])

    async def begin(self) -> None:
        """Shows what is violated anywhere in the project."""
        try:
            await self.publish_closed(await self.ask(self.models.list_violated))
        except ProjectError as error:
            self.log(str(error))

    def compile_saved(self, uri: str) -> None:
        """Has dbt compile the file beside, and judges what reads it; saves meanwhile wait for the next turn."""
        file = self.file(uri)
        if file is not None:
            self._saved.add(file)
        if self._compiling is None or self._compiling.done():
            self._compiling = asyncio.ensure_future(self._compile())

    async def _compile(self) -> None:
        try:
            while self._saved:
                files, self._saved = self._saved, set()
                # What was typed just before the save is taken first.
                await asyncio.gather(*self._pauses.values(), return_exceptions=True)
                await self.publish_all(await self.ask(self.models.settle))
                known = [file for file in files if await self.ask(self.models.model, file) is not None]
                if not known or not self.compiles:
                    continue
                nodes = await compile_files(self.models.location, known)
                await self.ask(self.models.take_compiled, nodes)
                await self.publish_all(await self.ask(self.models.settle))
        except CannotCompile as error:
            self.log(f"dbt cannot compile it; planproof still uses the last compile: {error}")
        except ProjectError as error:
            self.log(str(error))

    def log(self, message: str) -> None:
        self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Warning, neutralize(message)))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Shows an error, and answers what could not even be parsed."""
        if source is JsonRpcException:
            self.protocol.refuse(None, JsonRpcParseError())
        super().report_server_error(error, source)

    async def stop(self) -> None:
        """Ends what runs beside."""
        for task in (*self._pauses.values(), *([self._compiling] if self._compiling is not None else [])):
            task.cancel()
        self._one.shutdown(wait=False, cancel_futures=True)


def make_diagnostic(placed: Placed) -> lsp.Diagnostic:
    """The finding as the editor shows it: its range, what was found, and the next step."""
    finding = placed.finding
    return lsp.Diagnostic(
        lsp.Range(lsp.Position(placed.line, placed.start), lsp.Position(placed.line, placed.stop)),
        neutralize(f"{message_of(finding)}\nnext: {finding.next_step}"),
        severity=_SEVERITY[finding.verdict],
        code=finding.code,
        source="planproof",
    )


def new_server(workspace: Workspace, compiles: bool = True, anywhere: bool = False) -> Server:
    """A server with all its features; `anywhere`: the editor may say which folder is the project's."""
    server = Server(workspace, compiles, anywhere)
    _register_events(server)
    _register_answers(server)
    return server


def _register_events(server: Server) -> None:
    """What the editor tells: texts that are opened, changed, saved and closed."""

    @server.feature(lsp.INITIALIZE)
    def initialize(ls: Server, params: lsp.InitializeParams) -> None:
        folders = params.workspace_folders or []
        ls.take_root([*(folder.uri for folder in folders), params.root_uri])

    @server.feature(lsp.INITIALIZED)
    async def initialized(ls: Server, params: lsp.InitializedParams) -> None:
        await ls.begin()

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(ls: Server, params: lsp.DidOpenTextDocumentParams) -> None:
        ls.judge_later(params.text_document.uri, 0)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(ls: Server, params: lsp.DidChangeTextDocumentParams) -> None:
        ls.judge_later(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def saved(ls: Server, params: lsp.DidSaveTextDocumentParams) -> None:
        ls.judge_later(params.text_document.uri, 0)
        ls.compile_saved(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(ls: Server, params: lsp.DidCloseTextDocumentParams) -> None:
        ls.forget_change(params.text_document.uri)
        file = ls.file(params.text_document.uri)
        if file is not None:
            await ls.ask(ls.models.close, file)
        ls.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(params.text_document.uri, []))

    @server.feature(lsp.SHUTDOWN)
    async def shutdown(ls: Server, *_: Any) -> None:
        await ls.stop()


def _register_answers(server: Server) -> None:
    """What the editor asks about a place."""

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hover(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
        found = await _at(ls, answers.hover, params)
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, found)) if found else None

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    async def definition(ls: Server, params: lsp.DefinitionParams) -> lsp.Location | None:
        found = await _at(ls, answers.definition, params)
        if found is None:
            return None
        at = lsp.Position(found.line, found.column)
        return lsp.Location(from_fs_path(str(found.path.resolve())) or "", lsp.Range(at, at))

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    async def hints(ls: Server, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        file = ls.file(params.text_document.uri)
        first, last = params.range.start.line, params.range.end.line
        found = await ls.ask(lambda: list(answers.hints(ls.models, file, first, last))) if file is not None else []
        return [
            lsp.InlayHint(lsp.Position(h.line, h.column), h.label, kind=lsp.InlayHintKind.Type, tooltip=h.why)
            for h in found
        ]

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix]))
    async def actions(ls: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        file = ls.file(params.text_document.uri)
        first, last = params.range.start.line, params.range.end.line
        found = (
            await ls.ask(lambda: list(answers.suggest_mends(ls.models, file, first, last))) if file is not None else []
        )
        return [make_action(mend) for mend in found]


async def _at(ls: Server, question: Callable[[Workspace, str, int, int], T], params: Any) -> T | None:
    file = ls.file(params.text_document.uri)
    if file is None:
        return None
    return await ls.ask(question, ls.models, file, params.position.line, params.position.character)


def make_action(mend: answers.Mend) -> lsp.CodeAction:
    """A change of a file that is there, or of one that is made for it."""
    uri = from_fs_path(str(mend.path)) or ""
    begin, end = mend.start or (0, 0), mend.stop
    changes: list[Any] = []
    if not mend.path.exists():
        changes.append(lsp.CreateFile(uri, options=lsp.CreateFileOptions(ignore_if_exists=True)))
    elif end is None:
        end = (read_regular(mend.path, LARGEST).count(b"\n") + 1, 0)
    edit = lsp.TextEdit(lsp.Range(lsp.Position(*begin), lsp.Position(*(end or begin))), mend.text)
    changes.append(lsp.TextDocumentEdit(lsp.OptionalVersionedTextDocumentIdentifier(uri, None), [edit]))
    return lsp.CodeAction(
        mend.title, kind=lsp.CodeActionKind.QuickFix, edit=lsp.WorkspaceEdit(document_changes=changes)
    )
