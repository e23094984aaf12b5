"""Starts TensorZero's embedded HTTP gateway, which picks its own port, and writes that port to a file.

usage: start_tensorzero.py CONFIG PORT_FILE, run by the environment that TensorZero is installed in
"""

import importlib
import signal
import sys
from pathlib import Path
from urllib.parse import urlsplit

tensorzero = importlib.import_module("tensorzero")
gateway = tensorzero._start_http_gateway(
    config_file=sys.argv[1], clickhouse_url=None, postgres_url=None, valkey_url=None, async_setup=False
)
Path(sys.argv[2]).write_text(str(urlsplit(gateway.base_url).port))
signal.pause()
