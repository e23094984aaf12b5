"""Limits: how much a key, a team, a group of labels or a model may use. See docs/limits.md.

`limit`      the rules, who they apply to, what a turn costs, and the refusal
`clock`      time for minutes, calendar windows for budgets
`table`      the file that all workers of a machine share: rows, one lock, a redo log
`row`        one rule for one subject: where it lies in the table, and its arithmetic
`limiter`    admit, extend, settle: what the flow calls
`headers`    `x-ratelimit-*`
`resp`       a small client for Redis and Valkey
`central`    the scripts that run there
`leased_row` a row whose limit other machines share
`leases`     slices of a limit that several machines share
"""
