"""One file per materialization: what is staged, and how the target is checked before."""
