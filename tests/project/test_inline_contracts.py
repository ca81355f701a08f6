"""Contracts in files of their own."""

from __future__ import annotations

import json

import pytest

from planproof.contract import Constraint
from planproof.project import ProjectError
from planproof.project.contracts import read_contract

TEXT = """
columns:
  - {name: id, type: bigint, nullable: false}
  - {name: items, type: "array<struct<sku:string NOT NULL>>", description: what was bought}
  - name: ratio
    type: {type: array, elementType: double, containsNull: false}
constraints:
  - {type: unique, columns: [id]}
"""


def test_a_contract_in_yaml(tmp_path):
    (tmp_path / "c.yml").write_text(TEXT)
    contract = read_contract(tmp_path / "c.yml")
    assert [str(f) for f in contract.schema] == [
        "id bigint NOT NULL",
        "items array<struct<sku:string>>",
        "ratio array<double>",
    ]
    assert contract.schema[1].type.json["elementType"]["fields"][0]["nullable"] is False
    assert contract.schema[2].type.json["containsNull"] is False
    assert contract.constraints == (Constraint("unique", ("id",)),)


def test_a_contract_in_json(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps({"columns": [{"name": "a", "type": "int"}]}))
    assert [str(f) for f in read_contract(tmp_path / "c.json").schema] == ["a int"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a", "is no mapping"),
        ("columns: {}", "`columns` is not a list of columns"),
        ("columns: [1]", "columns[0]: is no mapping"),
        ("columns: [{name: a, type: int}]\ncolunms: 1", "unknown key 'colunms'; known: columns, constraints"),
        ("columns: [{name: a, typ: int}]", "columns[0]: unknown key 'typ'"),
        ("columns: [{type: int}]", "columns[0]: has no name"),
        ("columns: [{name: a}]", "columns[0] ('a'): has no type"),
        ("columns: [{name: a, type: int, nullable: maybe}]", "nullable is 'maybe', not true or false"),
        ("columns: [{name: a, type: innt}]", "column 'a': cannot read the type 'innt'"),
        ("columns: [{name: a, type: int}]\nconstraints: unique", "`constraints` is not a list of mappings"),
        ("columns: [{name: a, type: int}]\nconstraints: [{type: uniq}]", "unknown constraint 'uniq'"),
        ("columns: [", "is neither YAML nor JSON"),
        ("!!python/object/apply:os.system ['true']", "is neither YAML nor JSON"),
    ],
)
def test_files_that_are_no_contract(tmp_path, text, said):
    file = tmp_path / "c.yml"
    file.write_text(text)
    with pytest.raises(ProjectError) as caught:
        read_contract(file)
    assert said in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ProjectError, match="there is no such file"):
        read_contract(tmp_path / "none.yml")
