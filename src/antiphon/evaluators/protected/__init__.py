"""Protected material: answers that copy code or text which somebody holds rights in.

The way of a text: `lexemes` (text into lexemes) → `winnow` (lexemes into few fingerprints) → `index` (whose are they) →
`match` (enough of them close together: a copy). `build`, `sources`, `licences` and `command` make index files.
"""
