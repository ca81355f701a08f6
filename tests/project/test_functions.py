"""Functions by `module:name`: what is found, and what is said where nothing is."""

from __future__ import annotations

import pytest

from planproof import Function
from planproof.project.functions import LoadedFunctions, load
from planproof_engine.functions.declared import DeclarationError

MODULE = """
from planproof import Function
def one(x):
    return x
ONE = Function(one, "int")
BOTH = {"one": ONE, "two": Function(len, "bigint", kind="python")}
"""


def test_a_module_of_the_project(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "functions_of_a_test.py").write_text(MODULE)
    found = LoadedFunctions.of(["functions_of_a_test:BOTH", "functions_of_a_test:ONE"], tmp_path)
    assert list(found.functions) == ["one", "two", "ONE"]
    assert isinstance(found.functions["one"], Function)
    assert found.files == (str(tmp_path / "functions_of_a_test.py"),)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("nothing", "is not module:name"),
        ("no_such_module:X", "cannot import no_such_module: ModuleNotFoundError"),
        ("json:no_such_name", "the module json has no no_such_name"),
        ("breaks_at_import:X", "cannot import breaks_at_import: ZeroDivisionError"),
    ],
)
def test_what_cannot_be_found_is_said(tmp_path, monkeypatch, place, said):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "breaks_at_import.py").write_text("1 // 0\n")
    with pytest.raises(DeclarationError, match=said):
        load(place, tmp_path)
