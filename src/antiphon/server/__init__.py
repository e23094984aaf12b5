"""The HTTP side of the data plane: paths, keys, lists of models; every answer and every error as bytes."""
