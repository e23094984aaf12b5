"""Parameters of a request -> `generationConfig`, and the fields that Gemini alone has."""

from __future__ import annotations

from typing import Any, Final

from antiphon.document import Document
from antiphon.protocols.changes import Changes
from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.gemini.schema import adapt
from antiphon.protocols.gemini.words import camel

# Gemini's own fields, which clients send as unknown ones, in either spelling: beside the contents …
OWN_FIELDS: Final = frozenset(
    {
        *("safetySettings", "cachedContent", "serviceTier", "labels", "store", "modelArmorConfig"),
        *("toolConfig", "generationConfig"),
    }
)
# … and in `generationConfig`.
_OWN_CONFIG: Final = frozenset(
    {
        *("topK", "candidateCount", "responseMimeType", "responseSchema", "responseJsonSchema"),
        *("responseModalities", "thinkingConfig", "mediaResolution", "speechConfig", "imageConfig"),
        *("audioTimestamp", "routingConfig", "modelSelectionConfig", "enableEnhancedCivicAnswers"),
        *("continuationToken", "translationConfig", "audioTranscriptionConfig", "enableAffectiveDialog"),
        *("responseLogprobs", "maxOutputTokens", "stopSequences", "topP", "presencePenalty"),
        *("frequencyPenalty",),
    }
)
_READ: Final = frozenset(  # elsewhere
    {
        *("model", "messages", "stream", "stream_options", "n", "tools", "tool_choice", "functions"),
        *("function_call", "parallel_tool_calls", "reasoning_effort", "thinking", "max_tokens"),
        *("max_completion_tokens", "stop", "seed", "temperature", "top_p", "presence_penalty"),
        *("frequency_penalty", "logprobs", "top_logprobs", "response_format", "modalities", "audio"),
        *("service_tier", "web_search_options", "google", "extra_body", "moderation", "metadata", "store"),
    }
)
_PLAIN: Final = (("presence_penalty", "presencePenalty"), ("frequency_penalty", "frequencyPenalty"))
_SAMPLING: Final = (("temperature", "temperature"), ("top_p", "topP"))
_TIERS: Final = {"default": "standard", "standard": "standard", "flex": "flex", "priority": "priority"}
_LESS: Final = {"verbosity", "prediction", "logit_bias", "user", "safety_identifier"}
_CACHES: Final = {"prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "cache_control"}
# What a request says by itself, where it is judged.
_SAID: Final = frozenset({"contents", "systemInstruction", "tools", "model"})
_INT32: Final = 2**31


def say_config(document: Document, facts: ModelFacts, changes: Changes, *, json: bool) -> Document:
    """`json`: structured output can be asked for."""
    config: Document = {}
    _say_sampling(document, facts, changes, config)
    for name, said in _PLAIN:
        if document.get(name) is not None:
            config[said] = document[name]
    _say_limit(document, facts, changes, config)
    stop = document.get("stop")
    if stop:
        config["stopSequences"] = [stop] if isinstance(stop, str) else stop
    seed = document.get("seed")
    if seed is not None:
        if not -_INT32 <= seed < _INT32:
            changes.rewrite("seed", "Gemini takes 32 bits")
            seed %= _INT32
        config["seed"] = seed
    if document.get("logprobs") is True:
        config["responseLogprobs"] = True
        if document.get("top_logprobs"):
            config["logprobs"] = document["top_logprobs"]
    _say_format(document.get("response_format"), facts, changes, config, json=json)
    _say_modalities(document, changes, config)
    return config


def _say_sampling(document: Document, facts: ModelFacts, changes: Changes, config: Document) -> None:
    for name, said in _SAMPLING:
        if document.get(name) is not None:
            if facts.takes_sampling:
                config[said] = document[name]
            else:
                changes.drop(name, "the model takes none")


def _say_limit(document: Document, facts: ModelFacts, changes: Changes, config: Document) -> None:
    name = "max_tokens" if document.get("max_completion_tokens") is None else "max_completion_tokens"
    limit = document.get(name)
    if limit is None:
        return
    most = facts.max_output
    if limit < 1 or (most is not None and limit > most):
        limit = max(1, min(limit, most if most is not None else limit))
        changes.rewrite(name, f"the model takes 1 to {most or 'any number of'} tokens")
    config[facts.max_tokens_name or "maxOutputTokens"] = limit


def _say_format(wanted: Any, facts: ModelFacts, changes: Changes, config: Document, *, json: bool) -> None:
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if kind not in ("json_object", "json_schema"):
        if kind not in (None, "text"):
            changes.drop("response_format", f"Gemini has no format '{str(kind)[:64]}'")
        return
    if not json:
        changes.drop("response_format", "the model takes no JSON format beside tools")
        return
    config["responseMimeType"] = "application/json"
    schema = (wanted.get("json_schema") or {}).get("schema") if kind == "json_schema" else None
    if isinstance(schema, dict) and schema:
        if facts.takes_schema:
            config["responseJsonSchema"] = adapt(schema, "response_format.json_schema.schema", changes)
        else:
            changes.drop("response_format.json_schema", "the model takes no schema; JSON was asked for")


def _say_modalities(document: Document, changes: Changes, config: Document) -> None:
    modalities = document.get("modalities")
    if modalities and modalities != ["text"]:
        config["responseModalities"] = [word.upper() for word in modalities]
    audio = document.get("audio")
    if isinstance(audio, dict):
        voice = audio.get("voice")
        name = voice.get("id") if isinstance(voice, dict) else voice
        if name:
            config["speechConfig"] = {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": name}}}
        if audio.get("format") not in (None, "pcm16"):
            changes.drop("audio.format", "Gemini gives PCM")


def say_own(document: Document, body: Document, config: Document, changes: Changes, *, vertex: bool) -> None:
    """Gemini's own fields, as the client sent them; then what has no place at all is named."""
    _say_shared(document, body, changes, vertex=vertex)
    for name, value in document.items():
        if name in _READ or value is None:
            continue
        said = camel(name)
        if said in _OWN_CONFIG:
            _put(config, said, value)
        elif said in OWN_FIELDS:
            _put_field(body, config, said, value)
        elif name in _CACHES:
            changes.drop(name, "Gemini caches by itself, or by cachedContent")
        elif name in _LESS:
            changes.drop(name, "Gemini has no such parameter")
        else:
            changes.drop(name, "Gemini does not know it")
    for holder in (document, document.get("extra_body")):
        extra = holder.get("google") if isinstance(holder, dict) else None
        for name, value in extra.items() if isinstance(extra, dict) else ():
            said = camel(name)
            if said in _SAID:
                changes.drop(f"google.{name}", "it stands in the request itself")
            elif said in _OWN_CONFIG:
                _put(config, said, value)
            else:
                _put_field(body, config, said, value)


def _say_shared(document: Document, body: Document, changes: Changes, *, vertex: bool) -> None:
    """Fields that OpenAI has under the same name, or nearly."""
    tier = document.get("service_tier")
    if tier in _TIERS:
        body["serviceTier"] = _TIERS[tier]
    elif tier not in (None, "auto"):
        changes.drop("service_tier", f"Gemini has no tier '{str(tier)[:64]}'")
    if (store := document.get("store")) is not None:
        if not vertex:
            body["store"] = store
        elif store:
            changes.drop("store", "Vertex has no such parameter")
    if metadata := document.get("metadata"):
        if vertex and all(_is_label(key) and _is_label(value, empty=True) for key, value in metadata.items()):
            _put(body, "labels", metadata)
        else:
            reason = "its names or values are no labels of Vertex" if vertex else "Gemini has no such parameter"
            changes.drop("metadata", reason)


def _is_label(word: Any, *, empty: bool = False) -> bool:
    """Vertex: at most 63 lower-case letters, digits, `_` and `-`; a name begins with a letter."""
    if not isinstance(word, str) or len(word) > 63:
        return False
    if not word:
        return empty
    letters = word.replace("_", "a").replace("-", "a")
    return letters.isascii() and letters.isalnum() and word == word.lower() and (empty or word[0].isalpha())


def _put_field(body: Document, config: Document, name: str, value: Any) -> None:
    if name == "generationConfig" and isinstance(value, dict):
        for key, item in value.items():
            _put(config, camel(key), item)
    else:
        _put(body, name, value)


def _put(holder: Document, name: str, value: Any) -> None:
    """An object adds to what is there; the client's own word counts."""
    known = holder.get(name)
    if isinstance(known, dict) and isinstance(value, dict):
        if name.endswith("Config"):  # its keys are names of Gemini's, too
            value = {camel(key): item for key, item in value.items()}
        value = {**known, **value}
        if name == "thinkingConfig" and "thinkingBudget" in value and "thinkingLevel" in value:
            value.pop("thinkingBudget" if "thinkingBudget" in known else "thinkingLevel")  # they exclude each other
    holder[name] = value
