"""The comparisons of planes' claims: one file per step."""
