"""Real client libraries against a running gateway.

Each library runs in an environment of its own (`environments`), as one process for all its cases, against
`antiphon serve` in another process, whose upstream is scripted in this one (`cases`). A client script prints one verdict
per case and dialect; what a verdict must be stands in the test.
"""
