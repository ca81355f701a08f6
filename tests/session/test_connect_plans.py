"""What the text of a query's plans tells a Connect client, as Spark 4.1.4 printed it."""

from __future__ import annotations

import pytest

from planproof.session.frames import _is_python_fed

FORM = """== Parsed Logical Plan ==
{parsed}

== Analyzed Logical Plan ==
id: int, name: string
{analyzed}

== Optimized Logical Plan ==
{optimized}

== Physical Plan ==
LocalTableScan [id#4, name#5]
"""
VALUES = "'Project [*]\n+- SubqueryAlias v\n   +- LocalRelation [id#4, name#5]"
VIEW = "'Project [*]\n+- 'UnresolvedRelation [cl], [], false"
OF_VIEW = "SubqueryAlias cl\n+- View (`cl`, [id#14, name#15])\n   +- LocalRelation [id#14, name#15]"


@pytest.mark.parametrize(
    ("parsed", "analyzed", "fed"),
    [
        (VALUES, VALUES.replace("'", ""), False),
        (VIEW, OF_VIEW, True),
        (f"{VIEW}\n{VALUES}", f"{OF_VIEW}\n{VALUES}", True),
        (VIEW, "Project [id#4]\n+- Relation d.t[id#4] parquet", False),
        (VIEW, "Project [id#4]\n+- MapInArrow f(id#2)#3, [id#4]", True),
        (VALUES, f"{VALUES}\n== Optimized Logical Plan ==\n", True),
    ],
)
def test_rows_of_values_are_the_text_s_own_and_a_view_s_may_be_the_client_s(
    parsed: str, analyzed: str, fed: bool
) -> None:
    optimized = "LocalRelation [id#4, name#5]"
    assert _is_python_fed(FORM.format(parsed=parsed, analyzed=analyzed, optimized=optimized)) is fed
