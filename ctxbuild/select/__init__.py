"""One module per kind of layer: what it proposes, with score and reasons."""
