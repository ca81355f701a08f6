"""Sessions: ways to reach Spark."""

from planproof.session.protocol import Capabilities, Session, SparkFailure, SparkPlanes, StoredTable

__all__ = ["Capabilities", "Session", "SparkFailure", "SparkPlanes", "StoredTable"]
