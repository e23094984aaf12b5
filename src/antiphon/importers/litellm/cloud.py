"""Places and credentials of AWS, Azure and Vertex: LiteLLM's names -> ours."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import urlsplit

from antiphon.importers.litellm.config import Section
from antiphon.importers.litellm.providers import Provider
from antiphon.importers.litellm.values import UNSET, Values

RESOURCE: Final = re.compile(r"([a-z0-9-]+)\.(?:openai\.azure\.com|cognitiveservices\.azure\.com)")
AZURE_VERSION: Final = "2024-10-21"
ROLES: Final = ("aws_role_name", "aws_session_name", "aws_web_identity_token", "aws_sts_endpoint")
VERTEX_TOKEN: Final = "VERTEX_ACCESS_TOKEN"  # noqa: S105 (the name of a variable)


def aws_keys(params: Section, values: Values, region: str | None) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    written = params.take("aws_region_name") or params.take("region_name")
    for variable in ("AWS_REGION_NAME", "AWS_REGION", "AWS_DEFAULT_REGION"):
        if written is None and values.is_set(variable):
            written = f"os.environ/{variable}"
    region = region or values.text(written, f"the region of {params.path}")
    if region is None:
        values.notes.ask(f"{params.path}: LiteLLM finds its region by itself; us-east-1 is written, correct it")
    keys["region"] = region or "us-east-1"
    endpoint = params.take("aws_bedrock_runtime_endpoint") or params.take("api_base")
    if endpoint is not None and (url := values.text(endpoint, f"the endpoint of {params.path}")) is not None:
        keys["url"] = url.rstrip("/")
    if any(params.take(role) is not None for role in ROLES):
        values.notes.lose(f"{params.path}: assuming an AWS role; name a profile that does so (profile = …)")
    return keys | _aws_credential(params, values)


def _aws_credential(params: Section, values: Values) -> dict[str, Any]:
    token, profile = params.take("api_key"), params.take("aws_profile_name")
    if token is not None:
        return {"credential": values.secret(token, "bedrock api_key")}
    if profile is not None:
        return {"profile": values.text(profile, f"the profile of {params.path}") or "default"}
    if params.values.get("aws_access_key_id") is None and values.is_set("AWS_BEARER_TOKEN_BEDROCK"):
        return {"credential": values.secret_of("AWS_BEARER_TOKEN_BEDROCK")}
    keys = {}
    for ours in ("access_key_id", "secret_access_key", "session_token"):
        written = params.take(f"aws_{ours}")
        found = values.secret(written, f"aws {ours}") if written is not None else None
        variable = f"AWS_{ours.upper()}"
        if found is None and (ours != "session_token" or values.is_set(variable)):
            found = values.secret_of(variable)
        if found is not None:
            keys[ours] = found
    return keys


def azure_keys(params: Section, values: Values, known: Provider) -> dict[str, Any]:
    written = params.take("api_base") or f"os.environ/{known.base}"
    url = (values.text(written, f"the api_base of {params.path}") or f"https://{UNSET}").rstrip("/")
    version = params.take("api_version")
    if version is None and values.is_set("AZURE_API_VERSION"):
        version = "os.environ/AZURE_API_VERSION"
    found = values.text(version, f"the api_version of {params.path}") if version is not None else None
    keys: dict[str, Any] = {"protocol": known.protocol}
    resource = RESOURCE.fullmatch(urlsplit(url).hostname or "")
    if url.endswith("/openai/v1") or found in ("v1", "preview", "latest"):
        keys["protocol"] = "azure"
    else:
        keys["api_version"] = found or AZURE_VERSION
    base = url.removesuffix("/openai/v1").removesuffix("/openai")
    if resource is not None and resource[0].endswith("openai.azure.com"):
        keys["resource"] = resource[1]
    else:
        keys["url"] = f"{base}/openai/v1" if keys["protocol"] == "azure" else f"{base}/openai"
    return keys | _azure_credential(params, values, known)


def _azure_credential(params: Section, values: Values, known: Provider) -> dict[str, Any]:
    token, secret = params.take("azure_ad_token"), params.take("client_secret")
    tenant, client = params.take("tenant_id"), params.take("client_id")
    key = params.take("api_key")
    if secret is not None:
        ids = {"tenant_id": tenant, "client_id": client}
        texts = {name: values.text(value, f"the {name} of {params.path}") or "unset" for name, value in ids.items()}
        return {**texts, "client_secret": values.secret(secret, "azure client_secret")}
    if token is not None and key is None:
        return {"credential": values.secret(token, "azure_ad_token"), "auth": "bearer"}
    return {"credential": values.secret(key, "azure api_key") if key is not None else values.secret_of(known.key or "")}


def vertex_keys(params: Section, values: Values) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    for ours, theirs, variable, default in (
        ("project", "vertex_project", "VERTEXAI_PROJECT", "unset"),
        ("region", "vertex_location", "VERTEXAI_LOCATION", "us-central1"),
    ):
        written = params.take(theirs) or params.take(theirs.replace("vertex_", "vertex_ai_"))
        if written is None and values.is_set(variable):
            written = f"os.environ/{variable}"
        found = values.text(written, f"the {theirs} of {params.path}") if written is not None else None
        if found is None:
            values.notes.ask(f"{params.path}: LiteLLM finds its {theirs} by itself; {default} is written, correct it")
        keys[ours] = found or default
    return keys | _vertex_credential(params, values)


def _vertex_credential(params: Section, values: Values) -> dict[str, Any]:
    written = params.take("vertex_credentials") or params.take("vertex_ai_credentials")
    if written is None and values.is_set("GOOGLE_APPLICATION_CREDENTIALS"):
        written = "os.environ/GOOGLE_APPLICATION_CREDENTIALS"
    text = values.text(written, f"the vertex_credentials of {params.path}") if written is not None else None
    if text is not None and text.lstrip().startswith("{"):
        reference = values.secret(text, "vertex service-account") or ""
        if reference.startswith("file:"):
            return {"service_account": reference.removeprefix("file:")}
    elif text is not None:
        return {"service_account": text}
    values.notes.ask(f"{params.path}: name the file of a service account (service_account), or set {VERTEX_TOKEN}")
    return {"credential": f"env:{VERTEX_TOKEN}"}
