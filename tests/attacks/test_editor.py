"""A project of others in an editor: what it names is text there, neither an image that is fetched nor a link."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import subprocess
import sys
import time
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pygls")

from lsprotocol.types import TextDocumentItem
from pygls.workspace import Workspace as Texts

from planproof.lsp import answers
from planproof.lsp import workspace as compiling
from planproof.lsp.server import bound_input, make_diagnostic, new_server
from planproof.lsp.texts import compare_lines, find_edits, move_line
from planproof.lsp.workspace import Workspace
from planproof.project.location import ProjectLocation

IMAGE = "![](http://e.co/x)"
NAMES = (
    IMAGE,
    f"a\n```\n{IMAGE}",
    f"a\r```\r{IMAGE}",
    f"a\u2028{IMAGE}",
    "<img src=x>",
    "[a](command:x)",
    "a\x1b[2Jb\u202ec",
)
FILE = "models/m.sql"


def shown(workspace: Workspace, text: str) -> Iterator[str]:
    """Every text that an editor shows as Markdown, or as it is."""
    for column in range(len(text)):
        found = answers.hover(workspace, FILE, 0, column)
        if found is not None:
            _, code, _, why = found.split("\n")
            assert not code.startswith("```")
            # What is escaped is no markup.
            assert not re.search(r"(?<!\\)[<\]!`]", why), why
            yield found
    for hint in answers.hints(workspace, FILE, 0, 0):
        yield hint.label
        yield hint.why
    yield from (make_diagnostic(placed).message for placed in workspace.findings(FILE))
    yield from (mend.title for mend in answers.suggest_mends(workspace, FILE, 0, 9))


@pytest.mark.parametrize("name", NAMES)
def test_no_name_is_markup_of_an_editor(name: str, tmp_path: Path, dbt_manifest: Any) -> None:
    quoted = f"`{name.replace('`', '``')}`"
    text = f"select struct(k as {quoted}) as s, k as {quoted}, concat('{name[:40]}', k) as c from shop.up"
    models = {
        "up": {
            "sql": "select max(k) as k from (select '1' as k)",
            "relation_name": f"shop.{quoted}",
            "contract": True,
            "columns": {"k": {"data_type": "string", "constraints": [{"type": "not_null"}]}},
        },
        "m": {"sql": text.replace("shop.up", f"shop.{quoted}"), "parents": ["up"]},
    }
    text = models["m"]["sql"]
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    for folder in ("target", "models"):
        (tmp_path / folder).mkdir()
    (tmp_path / FILE).write_text(text, newline="")
    (tmp_path / "target" / "manifest.json").write_text(json.dumps(dbt_manifest(models)))
    workspace = Workspace(ProjectLocation(tmp_path))
    workspace.load()
    workspace.edit(FILE, text)
    found = list(shown(workspace, text))
    # dbt writes no lone CR, and a text with one is not shown.
    assert any("the contract of" in one for one in found) or "\r" in name
    unseen = {c for one in found for c in one if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")} - {"\n", "\u200b"}
    assert not unseen, unseen


@pytest.mark.parametrize("text", ["`" * 2_000_000, "-- x\n" * 400_000])
def test_a_text_of_megabytes_in_an_editor_is_not_judged(text: str, tmp_path: Path, dbt_manifest: Any) -> None:
    models = {"m": {"sql": "select nope from shop.gone"}}
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "manifest.json").write_text(json.dumps(dbt_manifest(models)))
    workspace = Workspace(ProjectLocation(tmp_path))
    workspace.load()
    before = workspace.findings(FILE)
    began = time.process_time()
    assert workspace.edit(FILE, text)
    assert answers.hover(workspace, FILE, 0, 0) is None
    assert workspace.findings(FILE) == before != []
    assert time.process_time() - began < 1


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def message(method: str, number: int | None = None, **params: Any) -> bytes:
    form = {"jsonrpc": "2.0", "method": method, "params": params, **({} if number is None else {"id": number})}
    return framed(json.dumps(form).encode())


def about(uri: str) -> Iterator[bytes]:
    """What an editor tells and asks of a file."""
    text = {"uri": uri, "languageId": "sql", "version": 1, "text": "select 1 as a"}
    at = {"line": 0, "character": 2**31 - 1}
    where: dict[str, Any] = {"textDocument": {"uri": uri}, "position": at, "range": {"start": at, "end": at}}
    yield message("textDocument/didChange", **where, contentChanges=[{"text": "select"}])
    yield message("textDocument/didSave", **where)
    yield message("textDocument/didOpen", textDocument=text)
    yield message("textDocument/didSave", **where)
    for method in ("hover", "definition", "inlayHint", "codeAction"):
        yield message(f"textDocument/{method}", 7, **where, context={"diagnostics": []})
    yield message("textDocument/didClose", **where)


FRAMES = (
    b"Content-Length: -5\r\n\r\n",
    b"Content-Length: 0\r\n\r\n",
    b"Content-Length: 2\r\nContent-Length: 99\r\n\r\n{}",
    b"Content-Length\r\n: 5\r\n\r\n\r\n",
    framed(b"\xff\xfe\xff"),
    framed(b"[" * 200_000),
    framed(b'{"jsonrpc":"2.0","id":3,"method":"x","params":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}"),
    framed(b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"x"}'),
    *(framed(body) for body in (b"[]", b"null", b"{}", b'"x"', b"\0", b'{"jsonrpc":"2.0","id":{},"method":[]}')),
    message("no/such", 5),
    message("textDocument/hover", 5),
    message("$/cancelRequest", id=77),
    message("initialized"),
    *about("file:///x/models/m.sql"),
)
URIS = (
    "",
    "untitled:Untitled-1",
    "http://e.co/x.sql",
    "file:///etc/passwd",
    "file:///proc/self/environ",
    "file:///dev/zero",
    "file://{home}/../secret.sql",
    "file://{home}/linked.sql",
    "file://{home}/zero.sql",
    "file://{home}/circle/x.sql",
    "file://{home}/models/a%00b.sql",
    "file://{home}/" + "a" * 5000,
    "file://{home}",
    "file://[",
)


def test_no_message_of_an_editor_ends_the_server_or_reads_elsewhere(tmp_path: Path) -> None:
    """Broken frames, methods before `initialize`, files outside of the folder; and at last one that has no end."""
    home = tmp_path / "shop"
    (home / "models").mkdir(parents=True)
    (home / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (tmp_path / "secret.sql").write_text("select 'precious' as a")
    (home / "linked.sql").symlink_to(tmp_path / "secret.sql")
    (home / "zero.sql").symlink_to("/dev/zero")
    (home / "circle").symlink_to(home / "circle")
    start = message("initialize", 1, processId=None, rootUri=None, capabilities={})
    told = [*FRAMES, start, message("initialized")]
    told += [each for uri in URIS for each in about(uri.replace("{home}", str(home)))]
    told += [message("textDocument/hover", 99, textDocument={"uri": "file:///x"}, position={"line": 0, "character": 0})]
    command = [sys.executable, "-m", "planproof", "lsp", "--no-dbt", "--no-cache", "--project-dir", str(home)]
    ended = subprocess.run(
        command, input=b"".join([*told, b"Content-Length: 99999999999999\r\n\r\n{}"]), capture_output=True, timeout=60
    )
    said = ended.stdout.decode()
    assert [f'"id": {number},' in said for number in (1, 99)] == [True, True], ended.stderr.decode()[-2000:]
    assert "precious" not in said
    assert b"internal error" not in ended.stderr
    assert ended.stderr.splitlines()[-1].startswith(b"planproof lsp ends: "), ended.stderr[-2000:]
    assert b"was never retrieved" not in ended.stderr, ended.stderr.decode()[-2000:]


def malformed() -> Iterator[bytes]:
    """Requests that no method takes, of the numbers from 100."""
    numbers = iter(range(100, 200))
    good = {"textDocument": {"uri": "file:///x/m.sql"}, "context": {"diagnostics": []}}
    places: list[Any] = [{"line": -1, "character": 0}, {"line": 0, "character": -1}, {"line": 2**40, "character": 0}]
    for at in [*places, {"line": "x", "character": 0}, {}, 5, None]:
        for method in ("hover", "definition", "inlayHint", "codeAction"):
            where = {"position": at, "range": {"start": at, "end": at}}
            yield message(f"textDocument/{method}", next(numbers), **good, **where)
    for rest in (
        {"params": 5},
        {"params": []},
        {"params": None},
        {"params": {}, "jsonrpc": "1.0"},
        {"params": {}, "jsonrpc": None},
        {"method": 5},
        {"method": None},
        {"error": 2},
        {"result": 2, "error": {"code": 1, "message": ""}},
        {"method": "initialize", "params": {}},
    ):
        form = {"jsonrpc": "2.0", "id": next(numbers), "method": "textDocument/hover", **rest}
        yield framed(json.dumps(form).encode())
    yield framed(b'{"jsonrpc":"2.0","id":%d}' % next(numbers))


def test_each_malformed_request_is_answered_by_an_error(tmp_path: Path) -> None:
    given = list(malformed())
    start = message("initialize", 1, processId=None, rootUri=None, capabilities={})
    late = [message("shutdown", 2), message("textDocument/hover", 3), framed(b"{"), framed(b"[]")]
    command = [sys.executable, "-m", "planproof", "lsp", "--no-dbt", "--no-cache", "--project-dir", str(tmp_path)]
    said = subprocess.run(command, input=b"".join([start, *given, *late]), capture_output=True, timeout=60).stdout
    answers = [json.loads(body) for body in re.findall(rb"\r\n\r\n(\{.*?\})(?=Content-Length|$)", said, re.DOTALL)]
    refused = [answer["id"] for answer in answers if "error" in answer]
    assert refused == [*range(100, 100 + len(given)), 3, None, None]
    assert [answer["id"] for answer in answers if "result" in answer] == [1, 2]


def test_thousands_of_saved_files_are_one_command_of_dbt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command line of two megabytes cannot be started: dbt compiles the whole project instead."""
    given: list[str] = []

    async def run(words: Iterable[str], neutral: str) -> tuple[str, int]:
        given.extend(words)
        return "stopped here", 2

    monkeypatch.setattr(compiling, "_run", run)
    for files, selected in (
        (["models/a b,[c].sql"], ["--select", "path:models/a?b??c?.sql"]),
        (["m" * 200] * 10**4, []),
    ):
        given.clear()
        with pytest.raises(compiling.CannotCompile, match="stopped here"):
            asyncio.run(compiling.compile_files(ProjectLocation(tmp_path), files))
        assert given[given.index("--target-path") + 2 :] == selected


def test_a_dbt_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    with pytest.raises(compiling.CannotCompile, match="cannot be started"):
        asyncio.run(compiling._run(["x" * 10**6], str(tmp_path)))


@pytest.mark.parametrize(
    "header", [b"x" * 10**6, b"Content-Length: " + b"9" * 5000 + b"\r\n", b"Content-Length: 9999999999\r\n"]
)
def test_a_header_without_end_is_not_waited_for(header: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    given = bound_input(io.BytesIO(header))
    assert given.readline() == b""
    assert "planproof lsp ends" in capsys.readouterr().err


LINES = st.lists(st.sampled_from(["x\n", "y\n", "\n", "zz\n", "x", "a\u2028b\n"]), max_size=12).map("".join)


@given(LINES, LINES)
def test_edits_make_the_new_text_of_the_old_one(old: str, new: str) -> None:
    made = old
    for start, stop, text in reversed(find_edits(old, new)):
        made = made[:start] + text + made[stop:]
    assert made == new
    compared = compare_lines(old.split("\n"), new.split("\n"))
    assert all(0 <= move_line(compared, line) <= new.count("\n") for line in range(old.count("\n") + 1))


MANY = [str(i % 27) for i in range(3600)]
TEXTS_OF_MANY_LINES = {
    "lines that are alike": ("\n" * 20_000, "a" + "\n" * 20_000 + "b"),
    "a long line": ("a" * 10**7, "b" + "a" * 10**7 + "c"),
    "lines in another order": ("\n".join(MANY), "x\n" + "\n".join(MANY[i * 7 % 3600] for i in range(3600)) + "\ny"),
}


@pytest.mark.parametrize("name", TEXTS_OF_MANY_LINES)
def test_an_edit_of_many_lines_is_soon_found(name: str) -> None:
    old, new = TEXTS_OF_MANY_LINES[name]
    began = time.process_time()
    assert find_edits(old, new)
    move_line(compare_lines(old.split("\n"), new.split("\n")), 3)
    assert time.process_time() - began < 5


def test_texts_that_others_replaced_meanwhile_are_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that takes a second to judge, and a key every 200 ms: an answer waited for every text in between. A file
    that was closed meanwhile is not read again: a pipe may stand in its place."""
    judged: list[str] = []

    def edit(workspace: Workspace, file: str, text: str) -> bool:
        judged.append(text)
        time.sleep(0.3)
        return True

    monkeypatch.setattr(Workspace, "edit", edit)
    monkeypatch.setattr(Workspace, "load", lambda workspace: None)
    monkeypatch.setattr(Workspace, "findings", lambda workspace, file: [])
    uris = [(tmp_path / f"{name}.sql").as_uri() for name in "ab"]
    os.mkfifo(tmp_path / "b.sql")

    async def play() -> None:
        server = new_server(Workspace(ProjectLocation(tmp_path)), compiles=False)
        server.protocol._workspace = Texts(None)
        monkeypatch.setattr(server, "text_document_publish_diagnostics", lambda params: None)
        for uri in uris:
            server.workspace.put_text_document(TextDocumentItem(uri, "sql", 1, "first"))
        server.judge_later(uris[1])
        server.workspace.remove_text_document(uris[1])
        for number in range(20):
            server.workspace.put_text_document(TextDocumentItem(uris[0], "sql", 1, str(number)))
            server.judge_later(uris[0], 0)
            await asyncio.sleep(0.05)
        while server._pauses:
            await asyncio.sleep(0.05)
        await server.ask(lambda: None)
        await server.stop()

    asyncio.run(asyncio.wait_for(play(), 20))
    assert judged[-1] == "19"
    assert len(judged) < 8, judged
