"""Harmless sentences for the heads of other languages: what people ask an assistant, which tweets do not look like."""

# ruff: noqa: E501 - rows are data, and chance is no secret here
from __future__ import annotations

import itertools

_CHINESE_ASKS = "请解释一下{}|帮我写一篇关于{}的短文|如何学习{}？|{}有哪些优点和缺点？|给我推荐几本关于{}的书|用一句话总结{}|为什么{}很重要？|列出五个与{}有关的例子"
_CHINESE_THINGS = "光合作用|人工智能|北京的历史|健康饮食|时间管理|机器学习|中国传统节日|编程|篮球|环境保护|睡眠质量|旅行计划|面试技巧|宋代诗词|咖啡|数据库设计|儿童教育|预算表|女性健康|移民政策|黑洞|非洲地理|同义词|河南菜|农民工的生活|城市交通"
_PORTUGUESE_ASKS = "Explique o que é {}.|Como posso aprender {}?|Escreva um texto curto sobre {}.|Quais são as vantagens de {}?|Me dê cinco dicas sobre {}.|Resuma {} em uma frase.|Por que {} é importante?"
_PORTUGUESE_THINGS = "fotossíntese|inteligência artificial|a história de Lisboa|alimentação saudável|programação em Python|futebol|direitos das mulheres|a comunidade negra no Brasil|música popular|uma entrevista de emprego|o carnaval|receitas de bolo|energia solar|finanças pessoais|viagens pela Amazônia"
_GERMAN_ASKS = "Erkläre mir bitte {}.|Wie lerne ich am besten {}?|Schreibe einen kurzen Text über {}.|Welche Vorteile hat {}?|Nenne fünf Tipps zu {}.|Fasse {} in einem Satz zusammen.|Warum ist {} wichtig?"
_GERMAN_THINGS = "Photosynthese|künstliche Intelligenz|die Geschichte von Köln|gesunde Ernährung|Programmieren in Python|Fußball|die Rechte von Frauen|Integration von Geflüchteten|klassische Musik|ein Vorstellungsgespräch|das Oktoberfest|Brot backen|Solarenergie|die Steuererklärung|Wandern in den Alpen"


def _each(asks: str, things: str) -> list[str]:
    return [ask.format(thing) for ask, thing in itertools.product(asks.split("|"), things.split("|"))]


BENIGN = {
    "zh": _each(_CHINESE_ASKS, _CHINESE_THINGS),
    "pt": _each(_PORTUGUESE_ASKS, _PORTUGUESE_THINGS),
    "de": _each(_GERMAN_ASKS, _GERMAN_THINGS),
}
