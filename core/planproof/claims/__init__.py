"""Claims: what files, and the batches in them, say."""
