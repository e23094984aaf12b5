"""The gate: what is English, what has a head of its own, what is not read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.evaluators.embedded.classifier import WEIGHTS
from antiphon.evaluators.embedded.language import LanguageGate

gate = LanguageGate.load(WEIGHTS / "languages.npz")


@pytest.mark.parametrize(
    "text",
    [
        "How do I bake bread without yeast?",
        "x",
        "12345 + 678",
        "https://example.com/very/long/path?query=1",
        "def main(): return [x ** 2 for x in range(10)]",
        "SELECT id, name FROM users WHERE created_at > now() - interval '1 day';",
        "ERR_CONNECTION_REFUSED",
        "Mozart Beethoven Chopin",
        "lol ok thx",
        "slave replica",
        "data pipeline",
        "kubectl get pods -n kube-system | grep Evicted | awk '{print $1}' | xargs kubectl delete pod",
        "rk <- rk %>% filter(Peptide %in% pp) %>% collect()",
    ],
)
def test_english_and_what_has_no_language(text: str) -> None:
    parts = gate.split(text)
    assert set(parts.texts) == {"en"}
    assert not parts.unread


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("请介绍一下北京的历史", "zh"),
        ("請問台北有什麼好吃的？", "zh"),
        ("Você pode me ajudar a escrever um e-mail para o meu chefe?", "pt"),
        ("Eu vou matar você e toda a sua família esta noite.", "pt"),
        ("kkkkk mano vc é muito engraçado, não aguento mais", "pt"),
        ("Kannst du mir bitte erklären, wie man einen Kuchen backt?", "de"),
        ("Die Regierung hat gestern ein neues Gesetz beschlossen.", "de"),
    ],
)
def test_languages_with_a_head(text: str, language: str) -> None:
    assert set(gate.split(text).texts) == {language}


@pytest.mark.parametrize(
    "text",
    [
        "Bonjour, pouvez-vous m'expliquer comment fonctionne la photosynthèse ?",
        "¿Puedes ayudarme a escribir una carta para mi abuela, por favor?",
        "Te voy a matar a ti y a toda tu familia esta noche.",
        "Odio a los negros como tú.",
        "Potresti spiegarmi come si prepara la pasta alla carbonara?",
        "Kunt u mij uitleggen hoe ik een taart moet bakken zonder oven?",
        "Czy możesz mi wyjaśnić, jak upiec chleb bez drożdży?",
        "Bana nasıl ekmek yapılacağını açıklayabilir misin lütfen?",
        "Привет, как испечь хлеб без дрожжей?",
        "パンの焼き方を教えてください",
        "빵을 어떻게 구워요? 알려주세요",
        "كيف أخبز الخبز بدون خميرة؟",
        "बिना खमीर के रोटी कैसे बनाएं?",
        "จะอบขนมปังได้อย่างไร",
    ],
)
def test_languages_that_nothing_reads(text: str) -> None:
    parts = gate.split(text)
    assert parts.unread
    assert parts.texts == {}


def test_of_a_mixed_text_what_can_be_read_is_read() -> None:
    parts = gate.split("Привет, как дела сегодня? Please tell me how to bake bread, step by step. 谢谢你的帮助")
    assert "bake bread" in parts.texts["en"]
    assert "谢谢" in parts.texts["zh"]
    assert parts.unread


def test_a_long_text_is_split_by_paragraph() -> None:
    english = "The committee met on Tuesday and discussed the budget for the next year. " * 6
    german = "Der Ausschuss hat am Dienstag über den Haushalt des nächsten Jahres beraten. " * 6
    parts = gate.split(english + "\n" + german)
    assert "committee" in parts.texts["en"]
    assert "Ausschuss" in parts.texts["de"]


@given(st.text(st.characters(codec=None)))
def test_any_text_is_taken(text: str) -> None:
    gate.split(text)
