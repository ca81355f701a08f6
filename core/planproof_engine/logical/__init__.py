"""Plans: nodes that derive their schema, the builder, the text form."""
