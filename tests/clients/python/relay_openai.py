"""The openai package on the relayed paths: pictures, sound, files."""

# mypy: ignore-errors
from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from openai import OpenAI
from verdict import main

FILE = bytes(range(251)) * 1200


def connect(base, dialect):
    return OpenAI(base_url=base, api_key="any", max_retries=0, timeout=20)


def sha(data):
    return hashlib.sha256(data).hexdigest()


def generate(client):
    [picture] = client.images.generate(model="picture", prompt="a cat").data
    return picture.revised_prompt


def generate_stream(client):
    events = client.images.generate(model="picture", prompt="a cat", stream=True)
    return [event.b64_json for event in events]


def edit(client):
    [picture] = client.images.edit(model="picture", prompt="a hat", image=("i.png", FILE)).data
    return [picture.revised_prompt, picture.b64_json == sha(FILE)]


def speech(client):
    path = Path(tempfile.mkstemp()[1])
    with client.audio.speech.with_streaming_response.create(model="voice", voice="alloy", input="Hi") as response:
        response.stream_to_file(path)
    digest = sha(path.read_bytes())
    path.unlink()
    return digest


def speech_error(client):
    return client.audio.speech.create(model="voice", voice="nobody", input="Hi")


def transcribe(client):
    return client.audio.transcriptions.create(model="ear", file=("a.wav", FILE)).text == f"ear: {sha(FILE)}"


def translate(client):
    return client.audio.translations.create(model="ear", file=("a.wav", FILE)).text == f"ear: {sha(FILE)}"


def files(client):
    made = client.files.create(file=("a.jsonl", FILE), purpose="batch")
    kept = client.files.retrieve(made.id)
    content = client.files.content(made.id)
    listed = [file.id for file in client.files.list(purpose="batch")]
    deleted = client.files.delete(made.id).deleted
    return [made.filename == sha(FILE), kept.id, sha(content.read()), listed, deleted]


main([generate, generate_stream, edit, speech, speech_error, transcribe, translate, files], connect)
