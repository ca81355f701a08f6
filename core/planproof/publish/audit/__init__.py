"""What is judged by facts before the swap, and of what is stored: files, counts, batches, constraints."""
