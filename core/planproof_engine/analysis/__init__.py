"""From the tree of a text to a plan: names, types, flags and evidence as Spark's analyzer gives them."""
