"""The cache of `planproof check`, and its processes: a report is the same with and without them."""

from __future__ import annotations

import copy
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from planproof.project import cache as caches
from planproof.project import location, read_project, schedule
from planproof.project.cache import Cache
from planproof.project.check import check_project
from planproof.project.finished import Earlier, Finished
from planproof.project.reads import Reads, note_reads, read_content
from planproof.project.request import Progress, Request
from planproof.project.schedule import can_fork
from planproof.report.model import Report
from planproof.report.text import render_plain
from planproof_engine.conf import Conf

ID = {"data_type": "bigint", "constraints": [{"type": "not_null"}]}
SOURCES = {"raw.orders": {"id": ID, "amount": "decimal(12,2)", "tags": "array<string>"}, "raw.open": {"id": "bigint"}}
TEXTS = (
    "select id, amount from {a}",
    "select id, amount, {n} as n from {a} where id > {n}",
    "select a.id, b.amount from {a} a left join {b} b on a.id = b.id",
    "select id, sum(amount) as amount from {a} group by id",
    "select id, amount, transform(array(id, {n}), x -> x + {n}) as xs from {a}",
    "select id, missing from {a}",
    "select id, amount from {a} union all select id, amount from {b}",
    "select id, amount from shop.nowhere{n}",
    "selec id from {a}",
    "select id, id from {a}",
)
CONFIGS = (
    {"materialized": "table"},
    {"materialized": "view"},
    {"materialized": "incremental"},
    {"materialized": "ephemeral"},
    {"materialized": "table", "meta": {"planproof": {"allow": ["PP101"]}}},
    {"materialized": "table", "pre-hook": [{"sql": "set spark.sql.ansi.enabled = true"}]},
)


class Edited:
    """A project of some models in a folder, which random edits change."""

    def __init__(self, folder: Path, seed: int, dbt_manifest) -> None:
        self.folder, self.random, self.make = folder, random.Random(seed), dbt_manifest
        self.sources = copy.deepcopy(SOURCES)
        self.models = {f"m{i}": self._model(i) for i in range(9)}
        self.conf = Conf(ansi=False)
        (folder / "models").mkdir()

    def _model(self, number: int) -> dict:
        pick = self.random
        parents = [pick.choice([f"m{i}" for i in range(number)] or ["raw.orders"]) for _ in range(2)]
        if pick.random() < 0.3:
            parents[0] = pick.choice(["raw.orders", "raw.open"])
        names = [p if "." in p else f"shop.{p}" for p in parents]
        text = pick.choice(TEXTS[:5] if pick.random() < 0.7 else TEXTS).format(a=names[0], b=names[1], n=number)
        found = {
            "sql": text,
            # Some of what a text reads is not listed among its parents.
            "parents": [p for p in dict.fromkeys(parents) if pick.random() < 0.8],
            "config": copy.deepcopy(pick.choice(CONFIGS[:2] if pick.random() < 0.6 else CONFIGS)),
        }
        if pick.random() < 0.4:
            found |= {"contract": True, "columns": {"id": ID, "amount": pick.choice(["decimal(12,2)", "double"])}}
        return found

    def edit(self) -> None:
        pick = self.random
        what = pick.randrange(6)
        number = pick.randrange(len(self.models))
        if what <= 2:
            self.models[f"m{number}"] = self._model(number)
        elif what == 3:
            self.sources["raw.open"] = pick.choice([{"id": "bigint"}, {"id": "string", "amount": "double"}])
        elif what == 4:
            self.conf = replace(self.conf, ansi=not self.conf.ansi)
        else:
            frozen = {"raw.open": {"columns": [{"name": "id", "type": pick.choice(["int", "bigint"])}]}}
            (self.folder / "planproof_sources.json").write_text(json.dumps({"sources": frozen}))

    def project(self):
        """The project as it is compiled now; a file may say something else than what was compiled."""
        manifest = self.make(self.models, self.sources)
        for key, node in manifest["nodes"].items():
            blank = "\n" * self.random.randrange(2)
            stale = " -- changed" if key.endswith("4") and self.random.random() < 0.3 else ""
            (self.folder / node["original_file_path"]).write_text(f"{blank}{node['raw_code']}{stale}")
        return replace(read_project(manifest), directory=self.folder)


def told(reports) -> list[str]:
    return [replace(report, seconds=0.0).to_json() for report in reports]


@pytest.mark.parametrize("seed", range(3))
def test_random_edits_give_the_same_report_with_and_without_the_cache(
    tmp_path, dbt_manifest, seed, monkeypatch
) -> None:
    monkeypatch.setattr(schedule, "FEW", 2)
    edited = Edited(tmp_path, seed, dbt_manifest)
    hits = 0
    for _ in range(8):
        project, cache = edited.project(), Cache(tmp_path / "cache.sqlite")
        plain = told(check_project(project, conf=edited.conf))
        assert told(check_project(project, conf=edited.conf, cache=cache, jobs=2)) == plain
        hits += cache.hits
        edited.edit()
    assert hits > 10


def test_nothing_changed_is_all_known_and_a_leaf_is_all_that_is_judged_anew(tmp_path, dbt_manifest) -> None:
    models = {
        "stg": {"sql": "select id from raw.orders", "parents": ["raw.orders"]},
        "mid": {"sql": "select id, 1 as one from shop.stg", "parents": ["stg"]},
        "leaf": {"sql": "select id from shop.mid", "parents": ["mid"]},
    }

    def hits() -> int:
        cache = Cache(tmp_path / "cache.sqlite")
        check_project(read_project(dbt_manifest(models, SOURCES)), cache=cache)
        return cache.hits

    assert [hits(), hits()] == [0, 3]
    models["leaf"]["sql"] = "select id, one from shop.mid"
    assert hits() == 2
    models["stg"]["sql"] = "select id from raw.orders -- the same columns"
    assert hits() == 2, "what leaves the same relation is not judged again downstream"
    models["stg"]["sql"] = "select cast(id as int) as id from raw.orders"
    assert hits() == 0


def test_a_project_is_the_same_however_its_folder_is_named(tmp_path, dbt_manifest, monkeypatch) -> None:
    frozen = {"raw.orders": {"columns": [{"name": "id", "type": "bigint"}]}}
    (tmp_path / "big").mkdir()
    (tmp_path / "big" / "planproof_sources.json").write_text(json.dumps({"sources": frozen}))
    manifest = dbt_manifest({"stg": {"sql": "select id from raw.orders", "parents": ["raw.orders"]}}, SOURCES)
    monkeypatch.chdir(tmp_path)
    found = []
    for directory in (Path("big"), tmp_path / "big", Path("big/../big")):
        cache = Cache(tmp_path / "cache.sqlite")
        [report] = check_project(replace(read_project(manifest), directory=directory), cache=cache)
        found.append((cache.hits, dict(report.details.inputs or {})))
    assert found == [(number, {"raw.orders": "planproof_sources.json"}) for number in (0, 1, 1)]


def test_what_a_text_reads_besides_its_parents_counts(tmp_path, dbt_manifest) -> None:
    models = {"a": {"sql": "select x.id from shop.z x"}, "z": {"sql": "select 1 as id"}}
    path = tmp_path / "cache.sqlite"

    def types() -> list[str]:
        reports = check_project(read_project(dbt_manifest(models, {})), cache=Cache(path))
        return [p.schema[0][1] for r in reports for p in r.planes if p.plane == "logical"]

    assert [types(), types()] == [["int", "int"], ["int", "int"]]
    models["z"]["sql"] = "select 'text' as id"
    assert types() == ["string", "string"]


def damaged_row(path: Path) -> None:
    with sqlite3.connect(path) as opened:
        opened.execute("update judged set small = replace(small, 'read', 'rest')")
        opened.execute("update judged set large = x'00'")


def other_shape(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as opened:
        opened.execute("create table judged (other)")


DAMAGE = {
    "rows": damaged_row,
    "no database": lambda path: path.write_bytes(b"nothing of the kind" * 1000),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "empty": lambda path: path.write_bytes(b""),
    "other table": other_shape,
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_cache_is_as_good_as_none(tmp_path, dbt_manifest, damage) -> None:
    models = {"stg": {"sql": "select id, id from raw.orders", "parents": ["raw.orders"]}}
    project, path = read_project(dbt_manifest(models, SOURCES)), tmp_path / "cache.sqlite"
    plain = told(check_project(project))
    check_project(project, cache=Cache(path))
    DAMAGE[damage](path)
    cache = Cache(path)
    assert told(check_project(project, cache=cache)) == plain
    assert cache.hits == 0
    assert told(check_project(project, cache=Cache(path))) == plain


def test_a_cache_is_bounded_and_keeps_what_was_used_last(tmp_path, monkeypatch) -> None:
    path = tmp_path / "cache.sqlite"
    content, day = os.urandom(1000), 1
    monkeypatch.setattr(caches, "_today", lambda: day)
    cache = Cache(path, most_bytes=2**20)
    for _ in range(8):
        for number in range(200):
            cache.put(f"{day} {number}".encode(), content, content)
        cache.close()
        day += 1
    assert path.stat().st_size <= 2**20 + 500_000
    assert cache.get(b"8 7") == (content, content)
    assert cache.get(b"1 7") is None


def test_the_users_folder(monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("PLANPROOF_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert caches.cache_folder() == tmp_path / "planproof"
    monkeypatch.setenv("PLANPROOF_CACHE_DIR", str(tmp_path / "own"))
    assert caches.cache_folder() == tmp_path / "own"
    cannot = tmp_path / "file"
    cannot.write_text("")
    cache = Cache(cannot / "below" / "check.sqlite")
    cache.put(b"key", b"small", b"large")
    cache.close()
    assert Cache(cannot / "below" / "check.sqlite").get(b"key") is None
    monkeypatch.setenv("PLANPROOF_CACHE_DIR", "~nobody-of-that-name/cache")
    assert caches.cache_folder() is None


@pytest.fixture
def grown(tmp_path, monkeypatch):
    """A generated project of 60 models."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    import scale

    return scale.Grown(tmp_path / "project", 60)


def command(folder: Path, cache: Path, *options: str) -> subprocess.Popen:
    words = [sys.executable, "-m", "planproof", "check", "--json", "--project-dir", str(folder), *options]
    environment = {**os.environ, "PLANPROOF_CACHE_DIR": str(cache)}
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def reports_of(work: subprocess.Popen) -> str:
    out, err = work.communicate(timeout=300)
    assert work.returncode == 0, err
    reports = json.loads(out)["reports"]
    return json.dumps([{**report, "seconds": 0} for report in reports])


def test_two_processes_at_once_and_several_jobs_say_the_same(grown, tmp_path) -> None:
    cache = tmp_path / "cache"
    plain = reports_of(command(grown.folder, cache, "--no-cache", "--jobs", "1"))
    assert not cache.exists()
    both = [command(grown.folder, cache, "--jobs", "2") for _ in range(2)]
    assert [reports_of(work) for work in both] == [plain, plain]
    assert reports_of(command(grown.folder, cache)) == plain
    assert caches.Cache(cache / "check.sqlite").get(b"nothing") is None


def test_a_process_that_dies_is_done_without(dbt_manifest, monkeypatch) -> None:
    if not can_fork():
        pytest.skip("another thread runs in this process: nothing is forked")
    monkeypatch.setattr(schedule, "FEW", 1)
    models = {f"m{i}": {"sql": f"select {i} as n"} for i in range(12)}
    project = read_project(dbt_manifest(models, {}))
    plain = told(check_project(project))
    here, judged = os.getpid(), schedule.JudgedNode.of.__func__

    def dies(cls, node, visit, **more):
        if os.getpid() != here and node.name in ("m3", "m7"):
            os._exit(9)
        return judged(cls, node, visit, **more)

    monkeypatch.setattr(schedule.JudgedNode, "of", classmethod(dies))
    assert told(check_project(project, jobs=2)) == plain


# --- a whole check that is told again --------------------------------------------------------------------------------


class Told(Progress):
    """What a door is told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def on_project(self, project) -> None:
        self.said.append(project.name)

    def on_project_name(self, project: str) -> None:
        self.said.append(project)

    def on_remark(self, remark: str) -> None:
        self.said.append(remark)


def shop(folder: Path, manifest: dict) -> None:
    for path in ("models", "seeds", "target"):
        (folder / path).mkdir(exist_ok=True)
    (folder / "target" / "manifest.json").write_text(json.dumps(manifest))
    (folder / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (folder / "profiles.yml").write_text(
        "shop:\n  target: dev\n  outputs: {dev: {type: spark, method: session, schema: shop}}\n"
    )
    (folder / "models" / "schema.yml").write_text("models:\n  - name: stg\n    columns: [{name: id}]\n")
    (folder / "seeds" / "codes.csv").write_text("code\n1\n")
    for node in manifest["nodes"].values():
        if node["resource_type"] == "model":
            (folder / node["original_file_path"]).write_text(node["raw_code"])


def frozen(path: Path, data_type: str) -> None:
    form = {"sources": {"raw.open": {"columns": [{"name": "id", "type": data_type}]}}}
    path.write_text(json.dumps(form))


EDITS = {
    "the manifest": lambda f: (f / "target/manifest.json").write_text(
        (f / "target/manifest.json").read_text().replace("1 as one", "'1' as one")
    ),
    "a model's file": lambda f: (f / "models/mid.sql").write_text("select 2"),
    "a file that is gone": lambda f: (f / "models/leaf.sql").unlink(),
    "its YAML, later than the compile": lambda f: (f / "models/schema.yml").write_text(
        "models:\n  - name: stg\n    columns: [{name: id, constraints: [{type: not_null}]}]\n"
    ),
    "a seed's header": lambda f: (f / "seeds/codes.csv").write_text("code,name\n1,a\n"),
    "a freeze file that comes": lambda f: frozen(f / "planproof_sources.yml", "string"),
    "another one before it": lambda f: frozen(f / "planproof_sources.json", "int"),
    "the profile": lambda f: (f / "profiles.yml").write_text(
        "shop:\n  target: dev\n  outputs:\n    dev: {type: spark, method: session, schema: shop, "
        "server_side_parameters: {spark.sql.caseSensitive: 'true'}}\n"
    ),
    "the project file's target folder": lambda f: (
        (f / "dbt_project.yml").write_text("name: shop\nprofile: shop\ntarget-path: out\n"),
        (f / "out").mkdir(),
        (f / "out/manifest.json").write_text((f / "target/manifest.json").read_text().replace("leaf", "last")),
    ),
}


def test_a_check_in_which_nothing_changed_is_told_again_without_reading_the_manifest(
    tmp_path, dbt_manifest, monkeypatch
) -> None:
    monkeypatch.setenv("PLANPROOF_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "shop"
    folder.mkdir()
    models = {
        "stg": {"sql": "select id, ID as other from raw.open", "parents": ["raw.open"], "columns": {"id": {}}},
        "mid": {"sql": "select id, 1 as one, missing from shop.stg", "parents": ["stg"]},
        "leaf": {"sql": "select one from shop.mid cross join shop.codes", "parents": ["mid", "codes"]},
        "wrong": {"sql": "select code as c from shop.codes", "parents": ["codes"], "contract": True}
        | {"columns": {"c": "bigint"}},
    }
    models["stg"]["patch_path"] = "shop://models/schema.yml"
    seeds = {"codes": {"config": {"column_types": {"code": "string"}}}}
    manifest = dbt_manifest(models, SOURCES, seeds)
    manifest["metadata"]["generated_at"] = "2020-01-01T00:00:00Z"
    shop(folder, manifest)
    reading = read_project
    read: list[object] = []
    monkeypatch.setattr(location, "read_project", lambda *given: read.append(given) or reading(*given))

    def checked(**options) -> tuple[str, list[str], int]:
        told, before = Told(), len(read)
        found = Request("check", project_dir=str(folder), **options).reports(None, told, brief=True)
        return render_plain(replace(r, seconds=0.0) for r in found), told.said, len(read) - before

    first = checked()
    assert checked() == (*first[:2], 0)
    whole = Request("check", project_dir=str(folder)).reports(None)
    assert any(report.details.plan for report in whole), "whoever wants all of a report gets it"
    for what, edit in EDITS.items():
        edit(folder)
        anew = checked(cache=False)
        assert checked() == anew, what
        assert checked() == (*anew[:2], 0), what
    text, said, _ = checked(select=("wrong",))
    assert text != anew[0]
    assert said[0] == "shop"
    assert checked(select=("wrong",))[2] == 0
    assert checked(settings={"fail_on": "never"})[2] == 1


def test_after_one_change_the_other_models_reports_are_those_of_the_check_before(
    tmp_path, dbt_manifest, monkeypatch
) -> None:
    monkeypatch.setenv("PLANPROOF_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "shop"
    folder.mkdir()
    stg = {"sql": "select id from raw.orders", "parents": ["raw.orders"]}
    others = {f"m{i}": {"sql": f"select id, {i} as n from shop.stg", "parents": ["stg"]} for i in range(9)}
    models = {"stg": stg, **others}
    # Where it is promised stands in no entry: the line is looked up again.
    promised = {"id": "string", "n": "int"}
    models["m0"] |= {"contract": True, "columns": promised, "patch_path": "shop://models/schema.yml"}
    above = 0
    asked: list[bytes] = []
    get = Cache.get
    monkeypatch.setattr(Cache, "get", lambda cache, key: asked.append(key) or get(cache, key))

    def checked(**options) -> tuple[str, int]:
        shop(folder, dbt_manifest(models, SOURCES))
        columns = "".join(f"\n      - {{name: {name}, data_type: {kind}}}" for name, kind in promised.items())
        entry = f"models:\n  - name: m0\n    config: {{contract: {{enforced: true}}}}\n    columns:{columns}\n"
        (folder / "models" / "schema.yml").write_text("# above\n" * above + entry)
        asked.clear()
        found = Request("check", project_dir=str(folder), **options).reports(None, brief=True)
        return render_plain(replace(r, seconds=0.0) for r in found), len(asked)

    checked()
    for sql in ("select id, 5 as five from shop.stg", "select id, 6 as six from shop.stg", "select id, from from x"):
        models["m5"]["sql"], above = sql, above + 1
        text, looks = checked()
        assert f"promised at models/schema.yml:{above + 5}" in text
        assert text == checked(cache=False)[0]
        assert looks <= 5, "the record twice, the model that changed, and the one that breaks its contract"
    models["stg"]["sql"] = "select cast(id as string) as id from raw.orders"
    assert checked()[0] == checked(cache=False)[0]


def test_what_a_check_reads_of_a_project_goes_through_reads() -> None:
    """A file that was read past it could change, and the check before would be told again."""
    live = {  # What is read anew each time, for the check's key, or in a check that is not told again.
        "cache.py": 2,  # No part of a project.
        "infer.py": 2,  # No check.
        "location.py": 1,
        "lookup.py": 1,
        "manifest.py": 1,
        "profile.py": 3,  # One of them asks for .git.
        "properties.py": 1,  # Of `infer`.
        "sources.py": 1,
    }
    direct = re.compile(r"\.(?:read_text|read_bytes|exists|is_file)\(|(?<![\w.])open\(")
    folder = Path(caches.__file__).parent
    found = {f.name: len(direct.findall(f.read_text())) for f in sorted(folder.glob("*.py")) if f.name != "reads.py"}
    assert {name: number for name, number in found.items() if number} == live


def test_what_two_checks_wrote_at_the_same_time_is_not_mixed(tmp_path) -> None:
    cache = Cache(tmp_path / "cache.sqlite")
    entries = []
    for name in ("a", "b"):
        report, earlier = Report(name, "checked"), Earlier()
        earlier.take(report, name.encode(), b"head of " + name.encode())
        Finished("shop", (), (report,)).keep(cache, b"key", Reads(), earlier)
        entries.append(cache.get(b"key"))
    assert {key: head for key, (head, _) in Earlier.of(cache, b"key", entries[1]).known.items()} == {b"b": b"head of b"}
    assert Earlier.of(cache, b"key", entries[0]).known == {}, "the heads are those of the other check"


@pytest.mark.parametrize("size", [10, 200_000])
def test_a_file_is_as_it_was_only_while_each_byte_is(tmp_path, size) -> None:
    path = tmp_path / "manifest.json"
    path.write_bytes(b"x" * size)
    with note_reads() as reads:
        assert read_content(path) == b"x" * size
    assert reads.hold()
    for other in (b"x" * (size - 1) + b"y", b"x" * (size + 1), b""):
        path.write_bytes(other)
        assert not reads.hold()
    path.write_bytes(b"x" * size)
    assert reads.hold()
    path.unlink()
    assert not reads.hold()


def test_a_brief_check_keeps_no_plans_and_a_whole_one_does_not_take_its_entries(tmp_path, dbt_manifest) -> None:
    project = read_project(dbt_manifest({"a": {"sql": "select id from raw.orders"}}, SOURCES))
    plain, path = told(check_project(project)), tmp_path / "cache.sqlite"
    [brief] = check_project(project, cache=Cache(path, brief=True), is_brief=True)
    assert (brief.details.plan, brief.details.lineage) == (None, None)
    again = Cache(path, brief=True)
    assert told(check_project(project, cache=again, is_brief=True)) == told([brief])
    assert again.hits == 1
    whole = Cache(path)
    assert told(check_project(project, cache=whole)) == plain
    assert whole.hits == 0
    assert told(check_project(project, cache=Cache(path, brief=True), is_brief=True)) == told([brief])
