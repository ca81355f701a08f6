"""Publishing: stage, audit, journal, lock, the strategies that swap, recover; one file per materialization."""
