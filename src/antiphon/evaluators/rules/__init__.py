"""Rules: lists of words and patterns that texts are searched for, in time that grows with the text and nothing else.

The way of a list: `rule_list` (what is written) → `words`, `patterns` (how each is searched for) → `rules` (the
evaluator). `secrets` has the lists that are built in. The engine is Hyperscan; `engine` is the one file that calls it.
"""
