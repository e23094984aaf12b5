"""What the requests are made of: questions, answers, tools. Harmless, so that no evaluator refuses a request."""

from __future__ import annotations

from random import Random
from typing import Any

INSTRUCTION = "You are a helpful assistant. Answer briefly, in plain English, and say so when you do not know."
QUESTION = (
    "What are three good reasons to measure the cost of a gateway before choosing its architecture? "
    "Please give one sentence for each reason, and end with a one-line summary."
)
INSTRUCTIONS = (
    INSTRUCTION,
    "You help customers of a bookshop. Be friendly, and never invent a title.",
    'You are a tutor for beginners in programming. Explain each step; use "short" examples.',
    "Summarise what the user sends in at most three sentences.\nKeep names and numbers as they are.",
    "You write product descriptions for a garden centre. Avoid superlatives.",
    "You are the planner of a small theatre. Today is Monday; the stage is free on Wednesdays.",
    "Tu es un assistant de voyage. Réponds dans la langue de l’utilisateur.",
    "You check recipes for a cookbook: amounts, order of the steps, and oven temperature in °C.",
)
TOPICS = (
    "a city library",
    "growing tomatoes on a balcony",
    "a train journey through the Alps",
    "the café “Zur Mühle”",
    "an index on a large table",
    "a school choir",
    "the museum of clocks",
    "baking rye bread",
    "a budget for a family of four",
    "the bridge at the old harbour",
    "a walk in 京都",
    "learning to paint with watercolours",
    'the word "gateway"',
    "a weekly meeting of ten people",
    "the opening hours of a bakery",
    "planting apple trees",
)
ASKING = (
    "Tell me about {0}, please.",
    "What should I know about {0} before I begin with {1}?",
    "Write {2} sentences about {0}.",
    "Compare {0} and {1}; use a table with {2} rows.",
    "I have {2} minutes. How can I prepare for {0}?",
    "Please correct this note:\n\n\t“we meet at {2}:15 to talk about {0}”",
    "Give me {2} good questions to ask about {0}.",
    "How has {0} changed in the last {2} years?",
)
TELLING = (
    "Here is what I found about {0}.",
    "There are {2} points to keep in mind:\n- start early\n- write things down\n- ask when something is unclear.",
    "People who like {0} often like {1} as well.",
    "It takes about {2} hours, including a break for lunch.",
    "The short answer is yes; the long one depends on {1}.",
    "A friend of mine did the same with {0}, and it went well. 🙂",
    "In the year 20{2:02d} the plan was changed, and {1} became part of it.",
    "You will need paper, a pencil and some patience.",
)


def _filled(random: Random, lines: tuple[str, ...], count: int) -> str:
    chosen = (random.choice(lines) for _ in range(count))
    return " ".join(
        line.format(random.choice(TOPICS), random.choice(TOPICS), random.randrange(2, 60)) for line in chosen
    )


def instruction(random: Random) -> str:
    return random.choice(INSTRUCTIONS)


def question(random: Random) -> str:
    return _filled(random, ASKING, random.randrange(1, 5))


def answer(random: Random) -> str:
    return _filled(random, TELLING, random.randrange(2, 12))


# Tools


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


LIMIT = {"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "How many at most."}
PLACE = {
    "type": "object",
    "description": "Where it is delivered.",
    "properties": {
        "street": _text("Street and number."),
        "city": _text("City."),
        "country": _text("ISO 3166 code.", pattern="^[A-Z]{2}$"),
        "floor": {"type": ["integer", "null"], "description": "Floor, if known."},
    },
    "required": ["street", "city", "country", "floor"],
    "additionalProperties": False,
}
ITEM = {
    "type": "object",
    "properties": {
        "sku": _text("Stock number.", minLength=6, maxLength=12),
        "count": {"type": "integer", "minimum": 1},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "A note for the packer."},
    },
    "required": ["sku", "count", "note"],
    "additionalProperties": False,
}
PARAMETERS: dict[str, tuple[str, dict[str, Any]]] = {
    "get_weather": (
        "The weather at a place, now or on one of the next ten days.",
        {"city": _text("City and country."), "day": _text("ISO 8601 date."), "unit": _text("Unit.", enum=["c", "f"])},
    ),
    "search_books": (
        "Searches the catalogue by words, author or subject. Returns the newest first.",
        {
            "query": _text("Words to look for."),
            "subjects": {"type": "array", "items": {"type": "string"}, "maxItems": 8},
            "limit": LIMIT,
        },
    ),
    "create_order": (
        "Creates an order. Ask the user before you call this.",
        {"items": {"type": "array", "items": ITEM, "minItems": 1}, "place": PLACE, "express": {"type": "boolean"}},
    ),
    "list_orders": (
        "Orders of the signed-in customer.",
        {"state": _text("State.", enum=["open", "packed", "sent", "returned"]), "limit": LIMIT},
    ),
    "find_trains": (
        "Connections between two stations.",
        {
            "origin": _text("Station of departure."),
            "target": _text("Station of arrival."),
            "at": _text("Local time.", format="date-time"),
            "changes": {"type": "integer", "minimum": 0, "maximum": 6},
        },
    ),
    "run_query": (
        "Runs a read-only SQL query and returns up to 100 rows as JSON.",
        {"sql": _text("The query."), "parameters": {"type": "array", "items": {"type": ["string", "number", "null"]}}},
    ),
    "send_message": (
        "Sends a message to a member of the team.",
        {"to": _text("Name or address."), "subject": _text("Subject."), "text": _text("Text, in Markdown.")},
    ),
    "convert_units": (
        "Converts a quantity from one unit to another.",
        {"value": {"type": "number"}, "from": _text("Unit."), "to": _text("Unit.")},
    ),
}


def tools(random: Random) -> list[dict[str, Any]]:
    """Two to five tools, in any order; some are strict, some name the day they were written on."""
    names = random.sample(list(PARAMETERS), random.randrange(2, 6))
    return [_tool(name, random) for name in names]


def _tool(name: str, random: Random) -> dict[str, Any]:
    description, properties = PARAMETERS[name]
    if random.random() < 0.25:
        description += f" Version of day {random.randrange(1, 366)}."
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    function: dict[str, Any] = {"name": name, "description": description, "parameters": parameters}
    if random.random() < 0.3:
        function["strict"] = False
    return {"type": "function", "function": function}


def arguments(random: Random) -> dict[str, Any]:
    return {"query": random.choice(TOPICS), "limit": random.randrange(1, 50)}


def result(random: Random) -> dict[str, Any]:
    rows = [
        {"title": random.choice(TOPICS), "price": round(random.uniform(3, 80), 2), "stock": random.randrange(40)}
        for _ in range(random.randrange(1, 5))
    ]
    return {"rows": rows, "took_ms": random.randrange(2, 900)}
