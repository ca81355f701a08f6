"""Task decorators, one per file."""
