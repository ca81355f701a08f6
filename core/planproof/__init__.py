"""planproof."""
