"""Planes, facts and settings become findings and a verdict: the one judgement of every door."""
