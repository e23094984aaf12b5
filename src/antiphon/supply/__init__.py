"""What the engine needs and a machine may lack, brought from the package index: the model, and libgomp.

Standard library only: `tools/`, which sets up a checkout, reads the index by it too.
"""
