"""Words that vendors have added to OpenAI's lists, and whose they are.

A word in one of these tables travels to the upstream as it was sent; `strict` refuses it. A word that stands neither
here nor in OpenAI's own list is a typo, and is refused before any upstream is asked (spec §2). A vendor's new word is
one more entry: nothing else knows these names.
"""

from __future__ import annotations

import re
from typing import Final

AUDIO_FORMATS: Final = frozenset(
    {
        "pcm",  # raw samples: OpenAI's word at its speech endpoint, and vLLM's
    }
)

CHOICES: Final = frozenset(
    {
        "any",  # Mistral's older word for `required`; its own clients still send it
    }
)

# `tool_choice` as an object. Hosted tools are chosen by their own type as well: see `is_vendor_choice`.
CHOICE_TYPES: Final = frozenset(
    {
        "tool",  # Anthropic: {"type": "tool", "name": …}
        "any",  # Anthropic: OpenAI's strings as objects
        "auto",
        "none",
        "required",  # gateways in front of Anthropic
    }
)

EFFORTS: Final = frozenset(
    {
        "default",  # Groq (Qwen 3)
        "auto",  # gateways and models that choose themselves
        "disable",  # LiteLLM, for Gemini
    }
)

FORMATS: Final = frozenset(
    {
        "structural_tag",  # vLLM, SGLang
        "grammar",  # Fireworks, llama.cpp
        "ebnf",  # SGLang
        "regex",  # Together, Perplexity, vLLM
    }
)

IMAGE_DETAILS: Final = frozenset(
    {
        "original",  # OpenAI, newer models
        "xhigh",  # ByteDance
        "ultra_high",  # LiteLLM, for Gemini
    }
)

INPUT_AUDIO_FORMATS: Final = frozenset(
    {
        "aac",  # this row: OpenRouter
        "aiff",
        "flac",
        "m4a",
        "ogg",
        "pcm16",
        "pcm24",
        "3gp",  # this row: Qwen (Alibaba)
        "3gpp",
        "amr",
        "mp4",  # this row: vLLM and SGLang read what their audio library reads
        "opus",
        "pcm",
        "webm",
    }
)

MODALITIES: Final = frozenset(
    {
        "image",  # OpenRouter, Gemini
        "video",  # Gemini
    }
)

PARTS: Final = frozenset(
    {
        "audio",  # this row: Qwen, and Hugging Face templates
        "image",  # … and Anthropic
        "video",
        "audio_url",  # this row: vLLM, SGLang
        "audio_embeds",
        "image_embeds",
        "prompt_embeds",
        "video_url",  # … and Zhipu, Moonshot, OpenRouter
        "input_video",  # OpenRouter
        "file_url",  # Zhipu
        "time_series_url",  # InternLM
        "document_url",  # this row: Mistral
        "reference",
        "thinking",  # … and Anthropic
        "document",  # this row: Anthropic
        "redacted_thinking",
        "search_result",
        "container_upload",
        "tool_reference",
        "tool_use",
        "tool_result",
        "server_tool_use",
        "web_search_tool_result",
        "reasoning",  # this row: spelled as in OpenAI's Responses; vLLM and others take them here
        "input_file",
        "input_image",
        "input_text",
        "output_text",
        "summary_text",
        "media",  # LangChain, for Gemini
        "guarded_text",  # LiteLLM, for Bedrock
    }
)

RETENTIONS: Final = frozenset(
    {
        "in-memory",  # OpenAI's own spelling until 2026
    }
)

TIERS: Final = frozenset(
    {
        "on_demand",  # this row: Groq
        "performance",
        "standard_only",  # this row: Anthropic
        "standard",  # … and Gemini
        "reserved",  # Bedrock
    }
)

TOOLS: Final = frozenset(
    {
        "web_search",  # nearly everyone
        "web_search_preview",  # this row: OpenAI's Responses
        "apply_patch",
        "code_interpreter",  # … and Groq, Mistral, Zhipu, xAI
        "computer",
        "computer_use_preview",
        "file_search",
        "image_generation",  # … and Mistral
        "local_shell",
        "mcp",  # … and Groq, xAI
        "shell",
        "tool_search",
        "browser_automation",  # this row: Groq
        "browser_search",
        "visit_website",
        "wolfram_alpha",
        "code_execution",  # this row: xAI
        "collections_search",
        "live_search",
        "x_search",
        "computer_use",  # this row: Gemini
        "google_maps",
        "google_search",
        "google_search_retrieval",
        "url_context",
        "connector",  # this row: Mistral
        "document_library",
        "web_search_premium",
        "builtin_function",  # Moonshot
        "drawing_tool",  # this row: Zhipu
        "retrieval",  # … and StepFun, Baichuan
        "web_browser",
        "image_process",  # this row: ByteDance
        "knowledge_search",
        "image_search",  # this row: Qwen
        "web_extractor",
        "web_search_image",
        "web_fetch",  # this row: Anthropic; with a date as well, see below
        "mcp_toolset",
        "fetch_url",  # Perplexity
    }
)

VERBOSITIES: Final = frozenset(
    {
        "xhigh",  # this row: OpenRouter
        "max",
    }
)

# A tool of one day (`web_search_20250305` of Anthropic, `web_search_preview_2025_03_11` of OpenAI), and
# OpenRouter's own, which it marks (`openrouter:web_search`).
_VERSIONED_TOOL: Final = re.compile(r"[a-z][a-z_]{2,40}_(?:20\d{6}|20\d\d_\d\d_\d\d)|openrouter:[a-z_]{1,40}")


def is_vendor_tool(kind: str) -> bool:
    return kind in TOOLS or _VERSIONED_TOOL.fullmatch(kind) is not None


def is_vendor_call(kind: str) -> bool:
    """The type of a call in the history: a hosted tool's own, or OpenAI's `web_search_call`."""
    return is_vendor_tool(kind.removesuffix("_call"))


def is_vendor_choice(kind: str) -> bool:
    return kind in CHOICE_TYPES or is_vendor_tool(kind)
