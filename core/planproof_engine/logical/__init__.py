"""Plans: nodes that derive their schema, the text form."""
