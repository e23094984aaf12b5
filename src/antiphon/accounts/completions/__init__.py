"""Stored completions between workers and the store.

answers.py   an answered turn as bytes -> what is kept of it
wire.py      questions and replies between a worker and the accounts process
server.py    the accounts process's end
client.py    a worker's end: the port `flow.stored.CompletionStore`
"""
