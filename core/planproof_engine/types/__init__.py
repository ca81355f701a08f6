"""Spark's data types: values, spellings, readers."""

from planproof_engine.types.casts import can_store_assign
from planproof_engine.types.ddl import TypeSyntaxError, format_ddl, from_json, parse_fields, parse_type
from planproof_engine.types.nodes import *
