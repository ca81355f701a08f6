"""The language server: what `planproof check` finds out, while a model is being written. Only `server` knows pygls."""
