"""What the client libraries ask the embedded model for: typed objects, flat and nested."""

# mypy: ignore-errors
from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

MODEL = "smollm2-135m-instruct"
ADA = "Ada is 36 years old. Give her name and age."
BOUGHT = "Ada bought a book for 12.5 and a small lamp for 30. She has paid."


class Person(BaseModel):
    """Someone."""

    name: str
    age: int


class Item(BaseModel):
    label: str
    price: float


class Order(BaseModel):
    """A purchase."""

    customer: str
    items: list[Item]
    size: Literal["small", "large"]
    paid: bool
    note: str | None = None


def say(text):
    return [{"role": "user", "content": text}]
