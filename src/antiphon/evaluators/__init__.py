"""Who judges texts. Towards the flow they are one `Judge`.

    panel.py    all evaluators of a worker as one: who applies is asked, the worst finding counts
    client.py   the evaluator process, seen from a worker (topic.py: what it asks, and what it knows already);
                wire.py: what travels between them
    process.py  that process: docket.py (what waits, and the thread that works), memory.py (what was judged before),
                parts.py (what it judges with), orders.py (what it is told by the supervisor)
    embedded/ protected/ rules/   what it judges with
    remote/     services elsewhere
Two questions: what is found in texts (`ask`, `ask_now`)? May the end of a streamed text begin a finding (`early`)?
Rule: no question raises, and none waits longer than its time limit; what could not be judged says so in its verdict.
"""

import os

# The wheel of onnxruntime sends figures to its makers and keeps a device id, unless this is set before it is imported.
# Whoever imports it imports a module of this package first.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
