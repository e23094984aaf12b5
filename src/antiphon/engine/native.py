"""The native engine: llama.cpp in a process of its own, `python -m antiphon.engine.native`, started by the host.

Its orders come as one line of JSON on stdin. What it has to say goes to stdout: {"ready": true} or {"fault": "…"}.
It ends with its host, whatever its native threads are doing: by the kernel's word where there is one, else when stdin
does. SIGTERM and SIGINT are not meant for it: whoever sends them to all processes wants the gateway to drain, and the
last answers need the engine.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import msgspec

from antiphon.engine.mortal import end_with_the_host

FAULTY = 3  # exit status after a fault was told


class Orders(msgspec.Struct):
    model: str
    name: str
    threads: int
    context: int
    slots: int
    batch: int
    socket: str
    key: str


def main() -> None:
    end_with_the_host()
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=Orders)
    try:
        # The one import of the foreign library, in the one process that may die of it.
        import xllamacpp  # noqa: PLC0415
    except ImportError as error:
        _give_up(f"The embedded engine cannot be loaded: {error}.")
    try:
        server = xllamacpp.Server(_parameters(xllamacpp, orders))
    except (RuntimeError, ValueError, MemoryError) as error:
        _give_up(f"The model file {orders.model} cannot be loaded: {error}.")
    _tell({"ready": True})
    while sys.stdin.buffer.readline():
        pass
    del server
    os._exit(0)


def _parameters(xllamacpp, orders: Orders):  # type: ignore[no-untyped-def]
    """Why each is as it is: docs/adr/0007."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path = orders.model
    parameters.model_alias = {orders.name}
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = orders.threads
    parameters.n_parallel = orders.slots
    parameters.n_ctx = orders.context * orders.slots  # llama.cpp divides it among the slots
    parameters.n_batch = parameters.n_ubatch = orders.batch  # also the step in which a prompt can be cancelled
    parameters.cache_ram_mib = 0  # its default keeps up to 8 GiB of prompts beside the slots' own
    parameters.ctx_shift = False  # an answer that fills the context ends; it does not forget its beginning
    parameters.prefill_assistant = False
    parameters.embedding = True
    parameters.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    parameters.hostnames = [orders.socket]
    parameters.api_keys = [orders.key]
    parameters.fit_params = False  # it would make the context smaller where memory is short, without a word
    parameters.offline = True  # whatever is missing, it asks nobody
    parameters.ui = False
    parameters.warmup = False
    return parameters


def _tell(message: dict[str, object]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
    sys.stdout.buffer.flush()


def _give_up(sentence: str) -> NoReturn:
    _tell({"fault": sentence})
    os._exit(FAULTY)


if __name__ == "__main__":
    main()
