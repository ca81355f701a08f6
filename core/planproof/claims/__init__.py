"""Claims: one reader per plane."""
