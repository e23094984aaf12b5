"""Which targets a model has, and in which order they are tried. Pure: chance is an argument."""
