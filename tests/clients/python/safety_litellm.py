"""litellm's SDK where a prompt is blocked."""

# mypy: ignore-errors
from __future__ import annotations

import os
from functools import partial

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else its import asks the network

import litellm
from verdict import main

litellm.suppress_debug_info = True  # it would print among the verdicts
FORBIDDEN = [{"role": "user", "content": "Please say forbiddenword."}]
HELLO = [{"role": "user", "content": "Hi"}]


def connect(base, dialect):
    reach = {"api_base": base, "api_key": "any", "num_retries": 0, "max_retries": 0, "timeout": 20}
    return partial(litellm.completion, model="openai/text", **reach)


def read(error):
    found = error.body.get("error", error.body)  # by its version
    return {
        "raised": type(error).__name__,
        "status_code": error.status_code,
        "is_bad_request": isinstance(error, litellm.BadRequestError),
        "code": found["code"],
        "inner": found["innererror"]["code"],
    }


def prompt(client):
    try:
        client(messages=FORBIDDEN)
    except litellm.ContentPolicyViolationError as error:
        return read(error)


def prompt_stream(client):
    try:
        list(client(messages=FORBIDDEN, stream=True))
    except litellm.ContentPolicyViolationError as error:
        return read(error)


def fallback(client):
    """What people do with it: another model answers where this one's policy says no."""
    router = litellm.Router(
        model_list=[
            {"model_name": name, "litellm_params": {**client.keywords, "model": f"openai/{name}", **more}}
            for name, more in (("text", {}), ("other", {"mock_response": "from the other"}))
        ],
        content_policy_fallbacks=[{"text": ["other"]}],
        num_retries=0,
    )
    return router.completion(model="text", messages=FORBIDDEN).choices[0].message.content


def allowed(client):
    return client(messages=HELLO).choices[0].message.content


main([prompt, prompt_stream, fallback, allowed], connect)
