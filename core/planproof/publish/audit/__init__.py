"""The audit: facts judged before the swap and of stored tables: files, counts, batches, constraints."""
