"""Dates and timestamps in typed literals, as Spark 3.5.9 and 4.0.5 answered them in the zone America/Los_Angeles."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from planproof import Catalog, Conf, plan
from planproof_engine.origin import AnalysisError, Unknown

CONF = Conf(time_zone="America/Los_Angeles")


def find_today() -> str:
    return str(dt.datetime.now(ZoneInfo("America/Los_Angeles")).date())


def name(literal: str) -> str:
    return plan(f"select {literal}", Catalog({}), conf=CONF).schema[0].name


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2020-01-01 10", "2020-01-01 10:00:00"),
        ("2020-1-1 1:1:1", "2020-01-01 01:01:01"),
        ("2020-01-01T10:00:00Z", "2020-01-01 02:00:00"),
        ("2020-01-01 10:00:00.", "2020-01-01 10:00:00"),
        ("2020-01-01 10:00:00+8:00", "2019-12-31 18:00:00"),
        ("2020-01-01 10:00:00 +08:00:00", "2019-12-31 18:00:00"),
        ("2020-01-01 10:00:00GMT-08:30", "2020-01-01 10:30:00"),
        ("2020-01-01 10:00:00.5 PST", "2020-01-01 10:00:00.5"),
        ("20200-01-01", "+20200-01-01 00:00:00"),
        ("epoch UTC", "1969-12-31 16:00:00"),
        ("today ", "{today} 00:00:00"),
        ("T10:00:00", "{today} 10:00:00"),
        ("10:00", "{today} 10:00:00"),
    ],
)
def test_timestamps_are_printed_in_the_session_s_zone(text: str, shown: str) -> None:
    before, found, after = find_today(), name(f"timestamp '{text}'"), find_today()
    assert found in {f"TIMESTAMP '{shown.format(today=day)}'" for day in (before, after)}


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"])
@pytest.mark.parametrize(
    "text",
    [
        "2020-01-01T",
        "2020-01-01  10:00:00",
        "2020-01-01 10:00 UTC",
        "2020-01-01 UTC",
        "2020-01-01 10:00:",
        "2020-01-01 1.5:00:00",
        "2020-01-01 10:00:00.5.5",
        "2020-01-01 10:00:00+19:00",
        "2020-01-01 10:00:00 utc",
        "2020-01-01 10:00:00 garbage",
        "2020-01-01 10:00:00Z+1",
        "2020-01-01 24:00:00",
        "1234567-01-01",
        "now x",
    ],
)
def test_what_is_no_timestamp_is_refused(kind: str, text: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        name(f"{kind} '{text}'")
    assert caught.value.condition == "INVALID_TYPED_LITERAL"


def test_a_time_alone_is_no_timestamp_without_a_zone_and_only_java_knows_all_zones() -> None:
    with pytest.raises(AnalysisError):
        name("timestamp_ntz '10:00:00'")
    with pytest.raises(AnalysisError):
        name("date 'today x'")
    assert name("timestamp_ntz 'epoch'") == "TIMESTAMP_NTZ '1970-01-01 00:00:00'"
    with pytest.raises(Unknown, match="the zone of the literal"):
        name("timestamp '2020-01-01 10:00:00 Not/AZone'")


def test_today_is_that_of_the_session_s_zone() -> None:
    # 25 hours lie between the two zones: it is never the same day in both.
    zones = ("Pacific/Kiritimati", "Pacific/Pago_Pago")
    names = [plan("SELECT DATE 'today'", Catalog(), conf=Conf(time_zone=zone)).schema[0].name for zone in zones]
    assert names[0] > names[1]
