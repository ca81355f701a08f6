"""dbt's data tests, before the publish: run on the staged rows, or decided without a query."""
