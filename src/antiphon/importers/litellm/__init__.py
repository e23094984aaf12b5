"""`antiphon import litellm`: a LiteLLM configuration, and its database, made into ours.

    command.py      the command
    config.py       the YAML file: bounded, with what it includes; which of its keys were read
    values.py       values that stand in the file or in the environment; secrets
    providers.py    LiteLLM's providers as rows: our protocol, its usual variables
    deployments.py  an entry of `model_list` -> an upstream and a target
    routes.py       groups, aliases, wildcards and fallbacks -> routes
    extras.py       keys, limits, budgets, prices
    toml.py         how settings are written
    database.py     keys, teams and spend out of LiteLLM's PostgreSQL
Rule: what cannot be carried over is named, in the file and on stderr.
"""
