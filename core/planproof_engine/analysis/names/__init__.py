"""What a name in a text can mean, and which names a query gives out."""
