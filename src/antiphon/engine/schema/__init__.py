"""JSON Schema to grammars: what `response_format` and tools demand of a text."""
