"""Ollama's API, `/api/chat` and `/api/generate`: requests as Chat Completions requests, answers as Ollama's lines."""
