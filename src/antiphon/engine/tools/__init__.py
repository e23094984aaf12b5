"""Tools on a model that knows none: which are told, chosen and called."""
