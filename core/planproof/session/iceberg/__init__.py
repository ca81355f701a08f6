"""Iceberg's tables in a classic session: looked at, changed by one transaction, and read at a snapshot."""

from planproof.session.iceberg.tables import Iceberg
from planproof.session.iceberg.transaction import IcebergTransaction
