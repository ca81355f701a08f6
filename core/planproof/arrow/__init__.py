"""Arrow and Parquet: the only room that imports pyarrow."""
