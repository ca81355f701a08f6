"""What a new version of Spark changes for planproof: `python tools/spark_upgrade OLD NEW` (docs/spark-versions.md)."""
