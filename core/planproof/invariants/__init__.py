"""What compares the claims of planes: one file per step."""
