"""Which cases of a sweep `make test` plays; `make conformance` plays all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def keep_quick(cases: Iterable[Any], *quick: Any) -> list[Any]:
    """Each case as a parameter; those that are not `quick` are marked `conformance`. A quick one must be a case."""
    found = list(cases)
    assert all(case in found for case in quick), [case for case in quick if case not in found]
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)), marks=[] if case in quick else [pytest.mark.conformance]
        )
        for case in found
    ]
