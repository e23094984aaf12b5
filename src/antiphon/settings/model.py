"""The frozen values that settings become. Names are those of the TOML keys; the defaults stand here only."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from antiphon.settings.secret import Secret

PACKAGED = "smollm2-135m-instruct"  # as what the model answers that comes with the gateway


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen: host and port, or a unix socket."""

    host: str = ""
    port: int = 0
    unix: str | None = None

    @property
    def loopback(self) -> bool:
        """Only this machine can reach it."""
        if self.unix is not None or self.host == "localhost":
            return True
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return bool((mapped or address).is_loopback)

    def __str__(self) -> str:
        if self.unix is not None:
            return f"unix:{self.unix}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class TlsSettings:
    cert: str
    key: str
    client_ca: str | None = None
    client_auth: str | None = None  # `required` or `optional`; None: required where there is a client_ca


@dataclass(frozen=True, slots=True)
class ServerSettings:
    listen: Address = Address("127.0.0.1", 8080)
    control: Address | None = Address("127.0.0.1", 8081)  # None: no control plane
    admin_secret: Secret | None = None  # None: made at the first start
    workers: int = 1
    dialect: str = "openai"
    auth: bool = False
    strict: bool = False
    max_body: int = 20 * 1024 * 1024
    max_upload: int = 512 * 1024 * 1024
    max_body_memory: int | None = None  # None: 256 MiB, or max_body where that is more
    max_json_depth: int = 200
    max_json_values: int = 500_000
    max_connections: int = 10_000
    max_client_connections: int = 0  # 0: no limit
    max_client_requests: int = 0
    max_key_requests: int = 0
    tls: TlsSettings | None = None
    trusted_proxies: tuple[str, ...] = ()
    forwarded_header: str | None = None  # None: x-forwarded-for, or forwarded where there is none
    proxy_protocol: bool = False
    socket_mode: int | None = None  # None: as the umask has it
    socket_group: int | None = None  # its number
    receipts: bool = True
    drain: float = 30.0
    lame_duck: float = 2.0
    keepalive: float = 15.0
    header_timeout: float = 10.0
    body_timeout: float = 30.0
    min_body_rate: int = 1024
    request_timeout: float = 300.0
    write_timeout: float = 30.0
    keepalive_comment: float | None = None  # None: as keepalive
    cors: tuple[str, ...] = ()
    access_log: str = "-"
    error_log: str = "-"
    maritaca_object: str = "chat_completion"
    built_in_tools: str = "refuse"


@dataclass(frozen=True, slots=True)
class TimeoutSettings:
    connect: float = 10.0
    first_byte: float = 300.0
    idle: float = 120.0
    total: float = 1800.0


@dataclass(frozen=True, slots=True)
class UpstreamSettings:
    name: str
    protocol: str
    url: str | None = None
    credential: Secret | None = None
    timeout: TimeoutSettings = TimeoutSettings()
    think: bool = False
    forward_headers: tuple[str, ...] = ()
    ca: str | None = None
    lacks: tuple[str, ...] | None = None  # None: as the catalog row says
    offers: tuple[str, ...] | None = None  # likewise
    max_idle: int = 256
    max_concurrent: int | None = None  # None: no limit
    queue: int = 64
    queue_timeout: float = 10.0
    proxy: bool = True
    list_models: bool = True
    auth: str | None = None  # how the credential is sent; None: as the catalog row says
    speaks: str | None = None  # of the scripted upstream; None: as OpenAI does
    region: str | None = None  # these are part of some vendors' URLs
    project: str | None = None
    resource: str | None = None
    api_version: str | None = None
    access_key_id: Secret | None = None  # AWS: requests are signed
    secret_access_key: Secret | None = None
    session_token: Secret | None = None
    profile: str | None = None  # AWS: credentials that expire
    service_account: str | None = None  # Google: its file
    tenant_id: str | None = None  # Microsoft Entra
    client_id: str | None = None
    client_secret: Secret | None = None
    token_url: str | None = None  # where tokens are fetched, if not at the vendor's usual place

    @property
    def expires(self) -> bool:
        """Its credential has to be fetched again and again."""
        return not (self.profile is None and self.service_account is None and self.client_secret is None)


@dataclass(frozen=True, slots=True)
class TargetSettings:
    upstream: str
    model: str | None = None  # None: the client's own name
    weight: int = 1
    priority: int = 0


@dataclass(frozen=True, slots=True)
class RouteSettings:
    model: str
    targets: tuple[TargetSettings, ...]
    safety: PolicySettings | None = None


@dataclass(frozen=True, slots=True)
class KeySettings:
    name: str
    secret: Secret
    dialect: str | None = None
    strict: bool | None = None
    receipts: bool | None = None
    max_requests: int | None = None  # None: as the server's max_key_requests says
    safety: PolicySettings | None = None
    team: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    models: tuple[str, ...] | None = None  # names and patterns that it may use; None: every model
    limits: MeasureSettings | None = None


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """Micro-units; written in units of the currency. None: no limit."""

    day: int | None = None
    month: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class MeasureSettings:
    """What a limit limits. None: it does not."""

    requests_per_minute: int | None = None
    input_tokens_per_minute: int | None = None
    output_tokens_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrent: int | None = None
    budget: BudgetSettings = BudgetSettings()


@dataclass(frozen=True, slots=True)
class LimitSettings(MeasureSettings):
    """`[[limit]]`: for whom. Nothing written: for all."""

    name: str = ""  # required
    keys: tuple[str, ...] = ()
    teams: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    models: tuple[str, ...] = ()
    per: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PriceSettings:
    """Micro-dollars for a million tokens; written in dollars. None: as `input`, or as `output`."""

    input: int
    output: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = None
    reasoning: int | None = None
    audio_input: int | None = None
    audio_cached: int | None = None
    audio_output: int | None = None
    image_input: int | None = None
    image_output: int | None = None


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """`[[model]]`: what the settings know of a model. None: as the packaged table says."""

    name: str  # or a pattern
    like: str | None = None  # the model that it is, by a name that the table knows
    context: int | None = None
    max_output: int | None = None
    price: PriceSettings | None = None
    sampling: bool | None = None
    prefill: bool | None = None
    tools: bool | None = None
    forced_tools: bool | None = None
    images: bool | None = None
    json_schema: bool | None = None
    mid_system: bool | None = None
    thinking: str | None = None
    efforts: tuple[str, ...] | None = None
    least_budget: int | None = None
    most_budget: int | None = None
    max_tokens_name: str | None = None


@dataclass(frozen=True, slots=True)
class CategorySettings:
    """One category of one side. None: as the side, then the preset, say."""

    name: str
    threshold: str | None = None
    mode: str | None = None


@dataclass(frozen=True, slots=True)
class SideSettings:
    """`[safety.prompt]` or `[safety.answer]`."""

    threshold: str | None = None
    mode: str | None = None
    timing: str | None = None  # prompt only: `gate` waits for the verdict, `race` asks the upstream meanwhile
    categories: tuple[CategorySettings, ...] = ()


@dataclass(frozen=True, slots=True)
class HoldSettings:
    tokens: int | None = None
    ms: int | None = None
    mode: str | None = None  # `full` or `adaptive`


@dataclass(frozen=True, slots=True)
class EvaluatorSettings:
    kind: str
    name: str = ""  # its kind, where it is not written (see evaluators.py)
    url: str | None = None
    route: str | None = None  # chat: whose first target is asked
    credential: Secret | None = None
    timeout: float | None = None  # None: as its kind has it
    model: str | None = None
    index: tuple[str, ...] = ()  # protected: files; none: the packaged index
    words: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    file: str | None = None
    lists: tuple[str, ...] = ()  # rules: those that are built in
    mode: str = "filter"  # rules: whether a match may block
    stages: tuple[str, ...] | None = None  # None: as its kind has it
    routes: tuple[str, ...] | None = None  # None: all
    keys: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """What a key or a route says of safety, and what the server does. None: as the next one below says."""

    enabled: bool | None = None
    annotations: bool | str | None = None  # or `every`
    mode: str | None = None
    preset: str | None = None
    threshold: str | None = None
    prompt: SideSettings = SideSettings()
    answer: SideSettings = SideSettings()
    hold: HoldSettings = HoldSettings()
    stream: str | None = None
    on_failure: str | None = None
    block_status: int | None = None
    judge_tools: bool | None = None
    max_text: int | None = None
    too_long: str | None = None
    override: bool = False  # of a route: its words count, however strict the key's and the server's are


@dataclass(frozen=True, slots=True)
class SafetySettings(PolicySettings):
    """`[safety]`: the server's own, with the evaluators of all."""

    enabled: bool = True
    evaluators: tuple[EvaluatorSettings, ...] = ()
    processes: int = 1  # that judge; by the number of cores (see kinds.py)
    queue_ms: int = 2000  # that a text waits for them


@dataclass(frozen=True, slots=True)
class EngineSettings:
    enabled: bool = True
    model: str | None = None  # path of a GGUF file; None: the packaged model
    name: str = PACKAGED  # of another file: its stem (see embedded.py)
    threads: int = 1  # one less than there are cores (see embedded.py)
    context: int = 3072  # tokens of one conversation
    slots: int = 2
    queue: int = 64
    queue_timeout: float = 30.0
    hang_after: float = 10.0


@dataclass(frozen=True, slots=True)
class KeepSettings:
    """How long and how much the store keeps: days and bytes. 0: without limit. (Defaults: accounts.stores.contract.)"""

    entry_days: int | None = None
    entry_bytes: int | None = None
    hour_days: int | None = None
    day_days: int | None = None
    audit_days: int | None = None
    completion_days: int | None = None
    completion_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class AccountsSettings:
    """The URLs may hold passwords, so they are never shown."""

    enabled: bool | None = None  # None: on, where there is a folder for it
    store: Secret | None = None
    state: str | None = None  # the folder of journal, copy of the keys and limits; None: this user's
    keys_max_age: float = 86_400.0  # seconds that known keys go on without the store
    keep: KeepSettings = KeepSettings()
    completions: bool = True  # answers are kept where clients ask for it
    counters: Secret | None = None  # of Redis or Valkey; None: the limits are this machine's
    on_counters_failure: str = "closed"
    reserve_output: int = 4096  # tokens that are held for an answer at a time
    on_limit: str = "end"  # what becomes of a stream that reaches a limit
    time_zone: str = "UTC"  # of days and months


@dataclass(frozen=True, slots=True)
class Settings:
    server: ServerSettings
    upstreams: tuple[UpstreamSettings, ...]
    routes: tuple[RouteSettings, ...]
    keys: tuple[KeySettings, ...] = ()
    safety: SafetySettings = SafetySettings()
    engine: EngineSettings = EngineSettings()
    accounts: AccountsSettings = AccountsSettings()
    models: tuple[ModelSettings, ...] = ()
    limits: tuple[LimitSettings, ...] = ()
    path: str | None = None  # the file, as it was named; None: there was none
    warnings: tuple[str, ...] = ()

    @property
    def embedded(self) -> str | None:
        """The upstream that is the embedded model, if a route leads there: then its engine runs."""
        used = self._targets()
        return next((row.name for row in self.upstreams if row.protocol == "embedded" and row.name in used), None)

    @property
    def rests_on_engine(self) -> bool:
        """Nothing can be answered without the embedded model."""
        return self._targets() == {self.embedded}

    def _targets(self) -> set[str]:
        return {target.upstream for route in self.routes for target in route.targets}
