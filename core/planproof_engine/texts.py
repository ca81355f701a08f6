"""Statements as texts: what one does, which names it reads, how it ends, and queries that are cut or made of others."""

from __future__ import annotations

from planproof_engine.analysis.hazard_counts import join_counts
from planproof_engine.analysis.names.mentioned import list_mentioned_names, list_read_names
from planproof_engine.sql.edits import drop_terminators
from planproof_engine.sql.heads import Query, Statement, may_change, read_head
from planproof_engine.sql.layout import lay_out
from planproof_engine.sql.stand_in import stand_in
from planproof_engine.sql.unparse import unparse
