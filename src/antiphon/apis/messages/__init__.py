"""Anthropic's Messages API: its requests as Chat Completions requests, and answers as Messages."""
