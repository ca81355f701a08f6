"""What Spark's analyzer rejects although each part of it is in order."""
