"""What a new version of Spark changes: `python tools/spark_upgrade OLD NEW` (NEW_SPARK.md of planproof_engine)."""
