"""The language server, driven by a client over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from edited_project import MART, STG, render

pytest.importorskip("pygls")

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from planproof.lsp import workspace as compiling
from planproof.lsp.texts import Lines, compare_lines, find_edits, move_line, resplice
from planproof.lsp.workspace import Workspace
from planproof.project.compiled import TemplateMap
from planproof.project.location import ProjectLocation


class Editor:
    """An editor with one server, over a process's standard input and output."""

    def __init__(self, folder: Path, client: LanguageClient) -> None:
        self.folder, self.client = folder, client
        self.shown: dict[str, list[lsp.Diagnostic]] = {}
        self.news = asyncio.Event()
        self.version = 0

    def uri(self, file: str) -> str:
        return (self.folder / file).as_uri()

    def open(self, file: str) -> None:
        item = lsp.TextDocumentItem(self.uri(file), "jinja-sql", 0, (self.folder / file).read_text())
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def write(self, file: str, text: str) -> None:
        self.version += 1
        document = lsp.VersionedTextDocumentIdentifier(self.version, self.uri(file))
        whole = lsp.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [whole]))

    async def told(self, file: str, until=lambda shown: True) -> list[lsp.Diagnostic]:
        """The next diagnostics of the file for which `until` holds."""

        async def waits() -> list[lsp.Diagnostic]:
            while True:
                self.news.clear()
                found = self.shown.pop(self.uri(file), None)
                if found is not None and until(found):
                    return found
                await self.news.wait()

        return await asyncio.wait_for(waits(), 60)

    def at(self, file: str, word: str, text: str | None = None) -> dict:
        text = (self.folder / file).read_text() if text is None else text
        line, column = Lines(text).position(text.index(word))
        return {"text_document": lsp.TextDocumentIdentifier(self.uri(file)), "position": lsp.Position(line, column)}


@asynccontextmanager
async def editing(folder: Path, *options: str, named: bool = True):
    client = LanguageClient("test", "1")
    editor = Editor(folder, client)

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def shown(params: lsp.PublishDiagnosticsParams) -> None:
        editor.shown[params.uri] = list(params.diagnostics)
        editor.news.set()

    where = ("--project-dir", str(folder)) if named else ()
    words = ["-m", "planproof", "lsp", "--stdio", *where, *options]
    await client.start_io(
        sys.executable, *words, cwd="/", env={**os.environ, "PLANPROOF_CACHE_DIR": str(folder / "cache")}
    )
    try:
        await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities(), root_uri=folder.as_uri()))
        client.initialized(lsp.InitializedParams())
        yield editor
        await client.shutdown_async(None)
        client.exit(None)
        assert await asyncio.wait_for(client._server.wait(), 60) == 0
    finally:
        if client._server.returncode is None:
            client._server.kill()
        await client.stop()


@pytest.mark.parametrize(
    ("column", "code", "said"),
    [
        ("iff(order_id > 1, amount * 2, amount * 2) as twice -- €", "PP506", ""),
        ("ai_query('m', amount) as twice -- €", "PP111", "ai_query"),
        ("amountt * 2 as twice -- €", "PP110", "amountt"),
    ],
)
def test_a_model_of_databricks_as_it_is_written(project, column: str, code: str, said: str) -> None:
    file = project / "target" / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["metadata"]["adapter_type"] = "databricks"
    file.write_text(json.dumps(manifest))

    async def session() -> None:
        async with editing(project, "--no-dbt") as editor:
            editor.open("models/mart.sql")
            await editor.told("models/mart.sql")
            editor.write("models/mart.sql", MART.replace("amount * 2 as twice -- über 1 €", column))
            (found,) = await editor.told("models/mart.sql")
            assert (found.code, said in found.message) == (code, True), found.message

    asyncio.run(session())


def test_findings_types_origins_and_actions_of_a_model(project) -> None:
    async def session() -> None:
        async with editing(project, "--no-dbt") as editor:
            editor.open("models/mart.sql")
            (found,) = await editor.told("models/mart.sql")
            assert (found.code, found.source) == ("PP506", "planproof")
            assert found.severity is lsp.DiagnosticSeverity.Warning
            assert MART.split("\n")[found.range.start.line] == "select order_id, twice"
            assert (found.range.start.character, found.range.end.character) == (17, 22)

            hover = await editor.client.text_document_hover_async(
                lsp.HoverParams(**editor.at("models/mart.sql", "amount"))
            )
            assert "amount: decimal(12,2)" in hover.contents.value
            assert "may be null" in hover.contents.value
            where = await editor.client.text_document_definition_async(
                lsp.DefinitionParams(**editor.at("models/mart.sql", "twice\nfrom"))
            )
            assert MART.split("\n")[where.range.start.line][where.range.start.character :].startswith("amount * 2")
            stored = await editor.client.text_document_definition_async(
                lsp.DefinitionParams(**editor.at("models/mart.sql", "amount"))
            )
            assert stored.uri == editor.uri("models/stg.sql")
            assert STG.split("\n")[stored.range.start.line].strip() == "cast(amount as decimal(12, 2)) as amount,"
            named = await editor.client.text_document_definition_async(
                lsp.DefinitionParams(**editor.at("models/mart.sql", "ref("))
            )
            assert named.uri == editor.uri("models/stg.sql")

            whole = lsp.Range(lsp.Position(0, 0), lsp.Position(20, 0))
            document = lsp.TextDocumentIdentifier(editor.uri("models/mart.sql"))
            hints = await editor.client.text_document_inlay_hint_async(lsp.InlayHintParams(document, whole))
            assert sorted((h.position.line, h.label) for h in hints) == [
                (3, ": bigint"),
                (3, ": decimal(14,2)"),
                (6, ": bigint"),
                (6, ": decimal(14,2)"),
            ]
            actions = await editor.client.text_document_code_action_async(
                lsp.CodeActionParams(document, found.range, lsp.CodeActionContext([found]))
            )
            assert [a.title for a in actions] == ["coalesce(twice, 0)"]
            (edit,) = actions[0].edit.document_changes[0].edits
            assert edit.new_text == "coalesce(twice, 0) as twice"
            editor.write("models/mart.sql", MART.replace("select order_id, twice", f"select order_id, {edit.new_text}"))
            assert await editor.told("models/mart.sql") == []

    asyncio.run(session())


def test_a_source_and_a_contract_that_is_added(project) -> None:
    async def session() -> None:
        async with editing(project, "--no-dbt") as editor:
            editor.open("models/stg.sql")
            assert await editor.told("models/stg.sql") == []
            where = await editor.client.text_document_definition_async(
                lsp.DefinitionParams(**editor.at("models/stg.sql", "amount"))
            )
            assert where.uri == editor.uri("models/sources.yml")
            assert where.range.start.line == 6
            document = lsp.TextDocumentIdentifier(editor.uri("models/stg.sql"))
            place = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
            (action,) = await editor.client.text_document_code_action_async(
                lsp.CodeActionParams(document, place, lsp.CodeActionContext([]))
            )
            assert action.title == "Add a contract to stg (_models.yml)"
            made, written = action.edit.document_changes
            assert isinstance(made, lsp.CreateFile)
            assert "enforced: true" in written.edits[0].new_text
            assert "data_type: decimal(12,2)" in written.edits[0].new_text
            assert not (project / "models" / "_models.yml").exists()

    asyncio.run(session())


def test_what_is_typed_is_judged_and_what_only_dbt_can_compile_waits(project) -> None:
    async def session() -> None:
        async with editing(project, "--no-dbt") as editor:
            editor.open("models/mart.sql")
            await editor.told("models/mart.sql")
            broken = MART.replace("order_id, amount", "order_id, amuont")
            editor.write("models/mart.sql", broken)
            found = await editor.told("models/mart.sql")
            assert [(d.code, d.severity) for d in found] == [("PP110", lsp.DiagnosticSeverity.Error)]
            assert broken.split("\n")[found[0].range.start.line][found[0].range.start.character :].startswith("amuont")
            # A new tag: the last text that could be judged stands, at the line where it is now.
            tagged = "-- one\n-- two\n" + MART.replace("from priced", "from {{ somewhere }}")
            editor.write("models/mart.sql", tagged)
            (found,) = await editor.told("models/mart.sql")
            assert found.code == "PP110"
            assert "order_id, amount" in tagged.split("\n")[found.range.start.line]

    asyncio.run(session())


def test_a_new_compile_is_read(project, dbt_manifest) -> None:
    async def session() -> None:
        async with editing(project, "--no-dbt") as editor:
            editor.open("models/mart.sql")
            assert [d.code for d in await editor.told("models/mart.sql")] == ["PP506"]
            path = project / "target" / "manifest.json"
            manifest = json.loads(path.read_text())
            manifest["nodes"]["model.shop.mart"]["columns"]["twice"]["data_type"] = "string"
            path.write_text(json.dumps(manifest))
            os.utime(path, (2_000_000_000, 2_000_000_000))
            editor.client.text_document_did_save(
                lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(editor.uri("models/mart.sql")))
            )
            await editor.told("models/mart.sql", lambda shown: "PP504" in [d.code for d in shown])

    asyncio.run(session())


def test_a_new_compile_is_read_where_the_project_file_says_that_dbt_writes(project) -> None:
    (project / "dbt_project.yml").write_text("name: shop\nprofile: shop\ntarget-path: out\n")
    (project / "target").rename(project / "out")

    async def session() -> None:
        async with editing(project, "--no-dbt") as editor:
            editor.open("models/mart.sql")
            assert [d.code for d in await editor.told("models/mart.sql")] == ["PP506"]
            path = project / "out" / "manifest.json"
            path.write_text(path.read_text().replace("decimal(14,2)", "string"))
            os.utime(path, (2_000_000_000, 2_000_000_000))
            editor.write("models/mart.sql", f"{MART}\n")
            await editor.told("models/mart.sql", lambda shown: "PP504" in [d.code for d in shown])

    asyncio.run(session())


def test_what_an_edit_breaks_in_a_model_that_is_not_open_is_shown(project) -> None:
    async def session() -> None:
        async with editing(project, "--no-dbt") as editor:
            editor.open("models/stg.sql")
            await editor.told("models/stg.sql")
            broken = STG.replace("cast(amount as decimal(12, 2))", "cast(amount as string)")
            for text, codes in ((broken, {"PP504"}), (STG, {"PP506"})):
                editor.write("models/stg.sql", text)
                await editor.told("models/stg.sql")
                editor.client.text_document_did_save(
                    lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(editor.uri("models/stg.sql")))
                )
                shown = await editor.told(
                    "models/mart.sql", lambda shown, codes=codes: codes <= {d.code for d in shown}
                )
                lines = {d.range.start.line for d in shown if d.code in codes}
                assert lines == {MART.split("\n").index("select order_id, twice")}

    asyncio.run(session())


def test_what_is_violated_anywhere_is_shown_at_the_start(project) -> None:
    path = project / "target" / "manifest.json"
    path.write_text(path.read_text().replace("decimal(14,2)", "string"))

    async def session() -> None:
        async with editing(project, "--no-dbt") as editor:
            assert "PP504" in [d.code for d in await editor.told("models/mart.sql")]

    asyncio.run(session())


def test_the_project_is_the_folder_that_the_editor_has_open(project) -> None:
    async def session() -> None:
        async with editing(project, "--no-dbt", named=False) as editor:
            editor.open("models/mart.sql")
            assert [d.code for d in await editor.told("models/mart.sql")] == ["PP506"]

    asyncio.run(session())


def test_a_project_that_is_not_compiled_is_said_and_no_end(tmp_path) -> None:
    (tmp_path / "dbt_project.yml").write_text("name: shop\n")
    (tmp_path / "a.sql").write_text("select 1")

    async def session() -> None:
        async with editing(tmp_path, "--no-dbt") as editor:
            logged: list[str] = []
            editor.client.feature(lsp.WINDOW_LOG_MESSAGE)(lambda params: logged.append(params.message))
            editor.open("a.sql")
            for _ in range(300):
                await asyncio.sleep(0.1)
                if logged:
                    break
            assert "there is no manifest; run `dbt compile`" in logged[0]

    asyncio.run(session())


def test_an_edit_is_carried_into_the_compiled_text_where_it_is_literal() -> None:
    node = {"raw_code": MART.strip(), "compiled_code": render(MART), "original_file_path": "m.sql"}
    mapped = TemplateMap.of(node, None, {"m.sql": MART})
    for old, new in (
        ("amount * 2", "amount * 20"),
        ("twice -- über", "twice, 1 as one -- äöü"),
        ("priced\n", "priced p\n"),
    ):
        edited = MART.replace(old, new)
        assert resplice(mapped, edited) == render(edited), new
    both = MART.replace("amount * 2", "amount").replace("select order_id, twice", "select order_id,\n  twice")
    assert resplice(mapped, both) == render(both)
    for old, new in (
        ("ref('stg')", "ref('other')"),
        ("from priced", "from {{ x }}"),
        ("from {{", "from {# #} {{"),
        ("{{ ref", "{ ref"),
    ):
        assert resplice(mapped, MART.replace(old, new)) is None, new
    text = "select '{ {' as a"
    braces = TemplateMap.of(
        {"raw_code": text, "compiled_code": text, "original_file_path": "m.sql"}, None, {"m.sql": text}
    )
    assert resplice(braces, text.replace("a", "b")) == text.replace("a", "b")
    assert resplice(braces, text.replace("{ {", "{{")) is None, "two braces that meet are a tag"
    assert find_edits("a\nb\nc\n", "a\nbx\nc\n") == [(3, 3, "x")]
    assert move_line(compare_lines(["a", "b"], ["x", "a", "b"]), 1) == 2
    assert Lines("a€𝒳b").position(3) == (0, 4)
    assert Lines("x\na€𝒳b").offset(1, 4) == 5


def test_models_downstream_are_judged_where_something_changed_for_them(project) -> None:
    workspace = Workspace(ProjectLocation(project))
    workspace.load()
    assert workspace.edit("models/stg.sql", STG.replace("decimal(12, 2)", "decimal(12,  2)"))
    assert workspace.settle() == set()
    assert workspace.edit("models/stg.sql", STG.replace("decimal(12, 2)", "string"))
    assert workspace.settle() == {"model.shop.mart"}
    workspace.edit("models/mart.sql", MART)
    assert "PP504" in [placed.finding.code for placed in workspace.findings("models/mart.sql")]


def test_dbt_compiles_a_saved_model_without_a_warehouse(tmp_path, example_project, monkeypatch) -> None:
    pytest.importorskip("dbt.cli.main")
    # A JVM could not start: nothing asks Spark.
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no-java"))
    monkeypatch.setenv("PLANPROOF_DEMO_HOME", str(tmp_path))
    location, file = ProjectLocation(example_project), "models/marts/customer_activity.sql"
    nodes = asyncio.run(compiling.compile_files(location, [file]))
    (node,) = (n for n in nodes.values() if n["original_file_path"] == file)
    assert "{{" in node["raw_code"]
    assert "{{" not in node["compiled_code"]
    assert not (example_project / "target" / "manifest.json").exists()
    (example_project / file).write_text("select {{ nothing_of_the_kind() }}")
    with pytest.raises(compiling.CannotCompile, match="nothing_of_the_kind"):
        asyncio.run(compiling.compile_files(location, [file]))


def test_a_recompiled_model_takes_the_place_of_the_last_compile(project) -> None:
    workspace = Workspace(ProjectLocation(project))
    workspace.load()
    edited = MART.replace("amount * 2", "{{ twice('amount') }}")
    workspace.edit("models/mart.sql", MART)
    assert not workspace.edit("models/mart.sql", edited)
    assert workspace.find_reading("models/mart.sql") is None
    compiled = render(edited).replace("{{ twice('amount') }}", "cast(amount * 2 as string)")
    workspace.take_compiled({"model.shop.mart": {"raw_code": edited.strip(), "compiled_code": compiled}})
    (found,) = (p for p in workspace.findings("models/mart.sql") if p.finding.code == "PP504")
    assert edited.split("\n")[found.line] == "select order_id, twice"
    assert workspace.find_reading("models/mart.sql") is not None
