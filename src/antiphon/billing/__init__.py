"""Who pays for a turn, and what: joins keys, limits, prices and the ledger for the turns of a worker.

    issued_keys.py   issued keys as the server knows keys
Rules: a request asks nobody: what is needed lies in this process, or in memory that all workers share.
"""
