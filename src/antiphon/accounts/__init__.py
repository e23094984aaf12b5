"""Accounts: issued keys, the ledger with its journal, the stores that hold them, and the commands over them.

    entry.py       one entry of the ledger
    rollups.py     sums of entries by hour and day (pure)
    usage.py       questions about these sums
    keys.py        issued keys; key_cache.py: a copy of them all in memory; key_feed.py keeps that copy current;
                   key_copy.py: the copy as a file, for workers
    journal/       entries on disk before they reach the store
    stores/        memory, SQLite and PostgreSQL behind one contract
    upkeep.py      ships and prunes; process.py: all of that, for one process of a machine
    places.py      URLs and folders
    completions/   stored completions: a worker's end, the accounts process's end
    reconcile/     the ledger against a vendor's export
    commands/      `antiphon key`, `antiphon usage`, `antiphon reconcile`
Rules: times are integer microseconds since 1970 UTC, money is integer micro-units, statements take parameters only.
"""
