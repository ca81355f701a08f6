"""Every output that the documentation shows is one that a program gives now.

`KINDS` says of each fenced block that is no command who produces it: a block that nobody produces fails. Numbers that
differ from run to run (seconds, ids of runs) are masked; everything else is compared to the letter. `make docs` writes
the outputs anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from projects import Dbt, project_files

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PLATFORM = ROOT / "docs/running.md"
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    if path.name != "CHANGELOG.md"
)
BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.S | re.M)
INPUT = ("sh", "yaml", "sql", "python", "lua", "mermaid", "yaml profiles.yml", "yaml dbt_project.yml")
"""What a reader types or writes; tests/docs and the pages' own tests run or read it."""

ALONE = "$ PLANPROOF=off dbt build --select activity        # dbt alone"
GUARDED = "$ dbt build --select activity"
ON_DISK = "shop.db/"
OTHERS = {
    "README.md": {ALONE: "here", GUARDED: "here"},
    "docs/design.md": {"core/planproof_engine/ ": "test_the_house_is_drawn_as_it_stands"},
    "docs/running.md": {ON_DISK: "here"},
    "docs/tutorial.md": {"$ ": "test_tutorial.py"},
    "docs/unproved.md": {"PP": "test_docs.py"},
}
"""The first words of each block of another kind, by page, and which test holds it to what a program says."""


@pytest.mark.parametrize("page", PAGES)
def test_every_output_that_is_shown_is_produced_by_a_test(page: str) -> None:
    blocks = [(b["info"], b["text"]) for b in BLOCK.finditer((ROOT / page).read_text("utf-8"))]
    outputs = [text for info, text in blocks if not (info in INPUT or re.match(r"(sql|yaml) models/", info))]
    known = tuple(OTHERS.get(page, ()))
    assert [text.splitlines()[0] for text in outputs if not text.startswith(known or ("\0",))] == []
    assert [first for first in known if not any(text.startswith(first) for text in outputs)] == []


def test_the_house_is_drawn_as_it_stands() -> None:
    """Every room of core/ stands in the drawing, and what is drawn stands there."""
    house = find_block((ROOT / "docs/design.md").read_text("utf-8"), "core/planproof_engine/ ")
    drawn = {word for line in house.splitlines() for word in re.findall(r"(?<![.\w])\w[\w/]*(?:\.py|/)", line[:30])}
    core, engine = ROOT / "core/planproof", ROOT / "core/planproof_engine"
    rooms = {
        f"{path.name}/" for storey in (core, engine) for path in storey.iterdir() if (path / "__init__.py").is_file()
    }
    assert rooms - set(re.findall(r"[\w/]+/", house)) == set()
    homes = [ROOT, core, engine, core / "publish", engine / "analysis", ROOT / "dbt_plugin/dbt_planproof"]
    assert [word for word in sorted(drawn) if not any((home / word).exists() for home in homes)] == []


MODEL = """
select
    customer,
    ORDERS as orders
from values ('Ada'), ('Ada'), ('Ben') as bought(customer)
group by customer
"""
CONTRACT = """
models:
  - name: activity
    config: {contract: {enforced: true}, materialized: table, file_format: parquet}
    columns:
      - {name: customer, data_type: string}
      - {name: orders, data_type: bigint}
"""


class Shop:
    """The README's model: healthy ones are published, and then `orders` becomes a string."""

    def __init__(self, project: Dbt, capture: pytest.CaptureFixture[str]) -> None:
        self.project, self.capture = project, capture

    def build(self, orders: str, guarded: bool = True) -> str:
        """What dbt says of a build, without the time of day: the model's lines, its error, planproof's last line."""
        self.project.write({"models/activity.sql": MODEL.replace("ORDERS", orders)})
        self.capture.readouterr()
        self.project.run("build", "--select", "activity", guarded=guarded)
        lines = [re.sub(r"^\d\d:\d\d:\d\d  ", "", line) for line in self.capture.readouterr().out.splitlines()]
        lines = [line for line in lines if re.match(r"\d+ of \d+ | +\S|planproof: ", line)]
        lines = [line for line in lines if not re.match(r" +(> |Runtime|Compilation|compiled code)", line)]
        return self._here("\n".join(lines)) + "\n"

    def asked(self) -> str:
        """How many rows the table has, asked of Spark in another way than dbt did; its error, where it has one."""
        try:
            rows = self.project.spark.sql(f"select count(*) from {self.project.schema}.activity").collect()
            return str(rows[0][0])
        except Exception as error:
            return self._here(re.split(r" Verify|\n", str(error))[0])

    def _here(self, text: str) -> str:
        return text.replace(f"{self.project.root}/", "").replace(self.project.schema, "shop")

    @property
    def folder(self) -> Path:
        described = self.project.spark.sql(f"describe database {self.project.schema}").collect()
        return Path(next(row[1] for row in described if row[0] == "Location").removeprefix("file:"))

    @property
    def location(self) -> Path:
        described = self.project.spark.sql(f"describe extended {self.project.schema}.activity").collect()
        return Path(next(row[1] for row in described if row[0] == "Location").removeprefix("file:"))


def compare(first: str, now: str) -> None:
    """The README's block that begins so is what was said now, seconds and the length of a name aside."""
    page = README.read_text("utf-8")
    shown = find_block(page, first)
    if os.environ.get("PLANPROOF_WRITE_DOCS"):
        README.write_text(replace_block(page, first, now), "utf-8")
    else:
        assert masked(shown) == masked(now), "run `make docs`"


def masked(text: str) -> str:
    return re.sub(r"\.{3,}", "...", re.sub(r"\d+\.\d+s\b", "#s", text))


def test_the_first_page_shows_what_dbt_says_alone_and_guarded(
    spark: object, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    project = Dbt(tmp_path, spark)  # type: ignore[arg-type]
    project.write({**project_files(project.schema, "method: session, host: NA"), "models/activity.yml": CONTRACT})
    shop = Shop(project, capfd)
    for _ in range(3):
        assert "1 published" in shop.build("count(*)")

    # What lies on disk: the table's version, the one before, and nothing in the folder that bears the table's name.
    shown = find_block(PLATFORM.read_text("utf-8"), ON_DISK)
    versions = sorted((shop.folder / "__planproof/activity").iterdir())
    assert shop.location in versions
    assert len(versions) == len(re.findall(r"__planproof/activity/", shown)) == 2
    for drawn in re.findall(r"__planproof/activity/(\S+)/part-0000….parquet", shown):
        form = re.sub(r"[0-9a-f]", "#", drawn)
        assert {re.sub(r"[0-9a-f]", "#", version.name) for version in versions} == {form}
    for version in versions:
        assert list(version.glob("part-0000*.parquet"))
    for state in re.findall(r"\.planproof/\w+", shown):
        assert (shop.folder / state).is_dir()
    assert not list((shop.folder / "activity").glob("*"))

    query = 'spark.sql("select count(*) from shop.activity")'
    guarded = shop.build("string(count(*))")
    compare(GUARDED, f"{GUARDED}\n{guarded}\n{query}\n{shop.asked()}\n")
    alone = shop.build("string(count(*))", guarded=False)
    compare(ALONE, f"{ALONE}\n{alone}\n{query}\n{shop.asked()}\n")
    spark.sql(f"drop database {project.schema} cascade")  # type: ignore[attr-defined]


def find_block(page: str, first: str) -> str:
    """The fenced block of a page that begins with these words."""
    return page[slice(*_find_span(page, first))]


def replace_block(page: str, first: str, text: str) -> str:
    """The page with another text in that block."""
    start, end = _find_span(page, first)
    return page[:start] + text + page[end:]


def _find_span(page: str, first: str) -> tuple[int, int]:
    found = re.search(rf"^```\w*\n({re.escape(first)}.*?)^```$", page, re.S | re.M)
    if found is None:
        raise ValueError(f"no block begins with {first!r}")
    return found.span(1)
