"""Who pays for a turn, and what: joins keys, limits, prices and the ledger for the turns of a worker.

    issued_keys.py   issued keys as the server knows keys
    estimates.py     what a request may take at most, before it is sent
    prices.py        what tokens cost
    entries.py       a turn as an entry of the ledger
    turns.py         admission, the next step of a stream, settlement
    recovery.py      after a crash: what the journal says and the limits do not
Rules: a request asks nobody: what is needed lies in this process, or in memory that all workers share.
"""
