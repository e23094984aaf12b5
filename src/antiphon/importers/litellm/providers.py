"""LiteLLM's providers as rows: which protocol of our catalog each is, where it is, which variables LiteLLM reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Provider:
    protocol: str
    key: str | None = None  # the variable of its key
    base: str | None = None  # the variable of its URL
    url: str | None = None  # where it is, if our catalog has no row for it
    suffix: str = ""  # what our URLs have behind LiteLLM's
    optional: bool = False  # goes without a key


LOCAL: Final = "/v1"

PROVIDERS: Final[Mapping[str, Provider]] = {
    "openai": Provider("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "text-completion-openai": Provider("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "custom_openai": Provider("openai", "OPENAI_API_KEY"),
    "openai_like": Provider("openai", "OPENAI_LIKE_API_KEY", "OPENAI_LIKE_API_BASE"),
    "litellm_proxy": Provider("openai", "LITELLM_PROXY_API_KEY", "LITELLM_PROXY_API_BASE"),
    "azure": Provider("azure-deployments", "AZURE_API_KEY", "AZURE_API_BASE"),
    "azure_text": Provider("azure-deployments", "AZURE_API_KEY", "AZURE_API_BASE"),
    "azure_ai": Provider("openai", "AZURE_AI_API_KEY", "AZURE_AI_API_BASE"),
    "anthropic": Provider("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_API_BASE"),
    "bedrock": Provider("bedrock"),
    "bedrock_converse": Provider("bedrock"),
    "bedrock_mantle": Provider("bedrock-mantle"),
    "vertex_ai": Provider("vertex"),
    "vertex_ai_beta": Provider("vertex"),
    "gemini": Provider("gemini", "GEMINI_API_KEY"),
    "cohere": Provider("cohere", "COHERE_API_KEY"),
    "cohere_chat": Provider("cohere", "COHERE_API_KEY"),
    "mistral": Provider("mistral", "MISTRAL_API_KEY", "MISTRAL_API_BASE"),
    "groq": Provider("groq", "GROQ_API_KEY"),
    "deepseek": Provider("deepseek", "DEEPSEEK_API_KEY"),
    "fireworks_ai": Provider("fireworks", "FIREWORKS_AI_API_KEY"),
    "together_ai": Provider("together", "TOGETHERAI_API_KEY"),
    "openrouter": Provider("openrouter", "OPENROUTER_API_KEY"),
    "perplexity": Provider("perplexity", "PERPLEXITYAI_API_KEY"),
    "xai": Provider("xai", "XAI_API_KEY"),
    "cerebras": Provider("cerebras", "CEREBRAS_API_KEY"),
    "dashscope": Provider("dashscope", "DASHSCOPE_API_KEY"),
    "moonshot": Provider("moonshot", "MOONSHOT_API_KEY"),
    "minimax": Provider("minimax", "MINIMAX_API_KEY"),
    "zai": Provider("zhipu", "ZAI_API_KEY"),
    "nvidia_nim": Provider("nvidia", "NVIDIA_NIM_API_KEY"),
    "huggingface": Provider("huggingface", "HF_TOKEN"),
    "github": Provider("github", "GITHUB_API_KEY"),
    "maritalk": Provider("maritaca", "MARITALK_API_KEY"),
    "ollama": Provider("ollama", "OLLAMA_API_KEY", "OLLAMA_API_BASE", suffix=LOCAL, optional=True),
    "ollama_chat": Provider("ollama", "OLLAMA_API_KEY", "OLLAMA_API_BASE", suffix=LOCAL, optional=True),
    "hosted_vllm": Provider("vllm", "HOSTED_VLLM_API_KEY", "HOSTED_VLLM_API_BASE", optional=True),
    "vllm": Provider("vllm", "HOSTED_VLLM_API_KEY", "HOSTED_VLLM_API_BASE", optional=True),
    "lm_studio": Provider("lmstudio", "LM_STUDIO_API_KEY", "LM_STUDIO_API_BASE", optional=True),
    "llamafile": Provider("llamacpp", base="LLAMAFILE_API_BASE", url="http://127.0.0.1:8080/v1", optional=True),
    # Not in our catalog; they speak the OpenAI protocol.
    "databricks": Provider("openai", "DATABRICKS_API_KEY", "DATABRICKS_API_BASE"),
    "deepinfra": Provider("openai", "DEEPINFRA_API_KEY", url="https://api.deepinfra.com/v1/openai"),
    "sambanova": Provider("openai", "SAMBANOVA_API_KEY", url="https://api.sambanova.ai/v1"),
    "nebius": Provider("openai", "NEBIUS_API_KEY", url="https://api.studio.nebius.ai/v1"),
    "hyperbolic": Provider("openai", "HYPERBOLIC_API_KEY", url="https://api.hyperbolic.xyz/v1"),
    "novita": Provider("openai", "NOVITA_API_KEY", url="https://api.novita.ai/v3/openai"),
}

# Which provider LiteLLM takes for a model that names none: by how the name begins.
BARE: Final = (
    (
        ("gpt-", "chatgpt-", "o1", "o3", "o4", "text-embedding-", "dall-e", "whisper-", "tts-", "davinci", "omni-"),
        "openai",
    ),
    (("claude-",), "anthropic"),
    (("gemini-",), "vertex_ai"),
    (("command", "embed-"), "cohere"),
    (("anthropic.", "amazon.", "meta.", "mistral.", "cohere.", "ai21.", "us.", "eu.", "apac."), "bedrock"),
)


def split_model(model: str, named: str | None) -> tuple[str | None, str]:
    """LiteLLM's `model` -> (provider, the model's name there). None: no provider can be told."""
    first, slash, rest = model.partition("/")
    if named:
        return named, rest if slash and first == named else model
    if slash and first in PROVIDERS:
        return first, rest
    if slash:
        return (first, rest) if first.replace("_", "").isalnum() else (None, model)
    return next((name for beginnings, name in BARE if model.startswith(beginnings)), None), model
