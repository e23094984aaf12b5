"""Who judges texts. Towards the flow they are one `Judge`.

    composite.py  all evaluators of a worker as one: those that apply are asked, the worst finding counts
    client.py     the evaluator processes, seen from a worker: topic.py (what it asks, and what it knows already),
                  share.py (what one process is asked), link.py (one process), patience.py (how long a share waits),
                  unjudged.py (verdicts for what waited in vain), wire.py (the messages between them)
    process.py    one such process: scheduler.py (the queue and its thread), verdict_cache.py (known verdicts),
                  joined.py (what two texts say together), backends.py (what it judges with), config.py (what the
                  supervisor tells it)
    embedded/ protected/ rules/   what it judges with
    remote/     services elsewhere
Two questions: what is found in texts (`ask`, `ask_now`)? May the end of a streamed text begin a finding (`early`)?
Rule: no question raises, and none waits for ever (patience.py); what could not be judged says so in its verdict.
"""

import os

# The wheel of onnxruntime sends figures to its makers and keeps a device id, unless this is set before it is imported.
# Whoever imports it imports a module of this package first.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
