"""What a new version of Spark changes, as one page that a person reviews (NEW_SPARK.md of planproof_engine).

    python tools/spark_upgrade OLD NEW [--answers] [--out PAGE.md]
    python tools/spark_upgrade --facts SPARK ...
    python tools/spark_upgrade --steps

A Spark is a Python that has pyspark, the folder of a distribution or of a pyspark package, or, where its facts are
checked in, a version. `--facts` asks Sparks and writes their facts to tools/spark_upgrade/facts; `--steps` prints the
figures of each step between the versions whose facts are checked in. With `--answers` the new Spark, which has to be at
hand, is asked the golden cases and the sweeps too.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from spark_upgrade import answers, facts, page, sparks


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sparks", nargs="*", help="the old Spark and the new one; with --facts any number")
    parser.add_argument("--facts", action="store_true", help="write the facts of the Sparks")
    parser.add_argument("--steps", action="store_true", help="print a table of all known steps")
    parser.add_argument("--answers", action="store_true", help="ask the new Spark the golden cases and the sweeps too")
    parser.add_argument("--family", nargs="*", default=[], help="families of functions to sweep; all when left out")
    parser.add_argument("--out", type=Path, help="where to write the page; printed when left out")
    options = parser.parse_args()
    if not options.facts and not options.steps and len(options.sparks) != 2:
        parser.error("two Sparks are compared: the old one and the new one")
    return options


def _write_facts(named: list[str]) -> None:
    facts.FOLDER.mkdir(exist_ok=True)
    for spark in named:
        form = sparks.form(spark)
        path = facts.FOLDER / f"{form['version']}.json"
        path.write_text(facts.format_facts(form))
        print(path)


def main() -> int:
    options = _parse_options()
    if options.facts:
        _write_facts(options.sparks)
        return 0
    if options.steps:
        print(*page.summary(itertools.pairwise(facts.read_known().values())), sep="\n")
        return 0
    old, new = (sparks.facts_of(spark) for spark in options.sparks)
    told = answers.list_lines(options.sparks[1], new, options.family) if options.answers else []
    text = page.render_page(old, new, told)
    if options.out:
        options.out.write_text(text)
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
