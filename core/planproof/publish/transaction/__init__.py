"""How a publish stays whole: its names, who holds the lock, the journal, recovery, and the way out."""
