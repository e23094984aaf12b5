"""Gemini's generateContent API: its requests as Chat Completions requests, and answers as GenerateContentResponses."""
