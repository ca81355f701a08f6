"""What every room of the engine stands on: a session's settings, the two ways not to understand a text, records."""

from planproof_engine.conf import Conf
from planproof_engine.origin import AnalysisError, Origin, Unknown, place
from planproof_engine.quoting import quote_name, quote_parts
from planproof_engine.records import evolve, record
