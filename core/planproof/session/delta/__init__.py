"""Delta Lake's tables in a session's own catalog: what their logs say now, and how actions are committed to one.

Everything that is known of a table is read from its log. A commit goes through Delta's own transaction, which compares
it with what others have committed since the version that it was made on.
"""
