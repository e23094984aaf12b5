"""Plain phrases for what the n-gram heads cannot tell: self-harm, sex, violence and jailbreaks in their languages.

There is no training data for these, so they find what is said outright and nothing else (docs/model-card.md).
"""

from __future__ import annotations

import re
from typing import Final

SELF_HARM, SEXUAL, VIOLENCE, JAILBREAK = 1, 2, 3, 4  # indices of network.LABELS

_CHINESE: Final = {
    SELF_HARM: (
        r"我(?:真的)?(?:想|要|打算)(?:自杀|去死|自残|割腕|结束(?:自己|我)?的?生命)",
        r"(?:怎么|如何|怎样)(?!.{0,2}[防帮避救]).{0,6}(?:自杀|割腕|上吊|无痛.{0,3}死)",
        r"自杀的?(?:方法|方式)有哪些",
    ),
    SEXUAL: (r"(?:写|描[写述]).{0,12}(?:色情|做爱|性爱|黄色小说|情色)", r"约炮|口交|肛交|淫荡"),
    VIOLENCE: (
        r"(?:怎么|如何|怎样)(?!.{0,2}[防避]).{0,8}(?:杀人|毒死|分尸|砍死|[制做造]炸弹)",
        r"(?:怎么|如何|怎样)(?!.{0,2}[防避]).{0,8}杀[死掉害](?:我|他|她|一个人|邻居|老板|妻子|丈夫|老婆|老公)",
        r"我[要会].{0,4}(?:杀了[你他她]|弄死[你他她]|砍死)",
    ),
    JAILBREAK: (
        r"(?:忽略|无视|忘[记掉]).{0,6}(?:之前|以上|前面|先前|所有|一切).{0,8}(?:指令|指示|规则|提示|限制|设定)",
        r"(?:没有|不受)任何.{0,8}(?:限制|约束).{0,12}(?:AI|人工智能|助手|模型|机器人)",
        r"越狱模式|扮演.{0,6}DAN",
    ),
}
_PORTUGUESE: Final = {
    SELF_HARM: (
        r"\b(?:quero|vou) (?:me matar|morrer hoje|acabar com (?:a )?minha vida)",
        r"\bcomo (?:posso )?(?:me matar|me cortar|cometer suic[ií]dio)|\bm[eé]todos? de suic[ií]dio",
    ),
    SEXUAL: (
        r"\b(?:escrev|descrev)\w+ .{0,30}(?:porn[oôó]|er[oó]tic[oa]|sexo expl[ií]cito)",
        r"\bbuceta\b|\bchup\w+ (?:o )?meu pau\b",
    ),
    VIOLENCE: (
        r"\bcomo (?:posso )?(?:matar|assassinar|envenenar|esfaquear|torturar) (?:algu[eé]m|uma? pessoa)",
        r"\bcomo (?:posso )?(?:matar|assassinar|envenenar|esfaquear|torturar) (?:[oa] )?(?:meu|minha) "
        r"(?!tempo|sede|fome)",
        r"\bvou te matar\b|\bcomo (?:fazer|construir|fabricar) uma bomba\b",
    ),
    JAILBREAK: (
        r"\b(?:ignor|esque[cç])\w+ (?:todas )?as (?:suas )?(?:instru[cç][oõ]es|regras) "
        r"(?:anteriores|acima|de seguran[cç]a)",
        r"\bmodo (?:desenvolvedor|dan) (?:ativado|ligado)",
        r"\bvoc[eê] n[aã]o tem (?:mais )?(?:regras|restri[cç][oõ]es|limites|filtros)",
    ),
}
_GERMAN: Final = {
    SELF_HARM: (
        r"\bich (?:will|möchte|werde) (?:mich (?:umbringen|töten|ritzen)|nicht mehr leben|mein leben beenden)",
        r"\bwie (?:kann|soll) ich mich (?:\w+ )?(?:umbringen|ritzen|töten|aufhängen)|\bsuizidmethoden\b",
    ),
    SEXUAL: (
        r"\b(?:schreib|beschreib)\w* .{0,30}(?:porno|sexszene|erotische? (?:geschichte|szene))",
        r"\bblowjob\b|\bfick mich\b",
    ),
    VIOLENCE: (
        r"\bwie (?:kann|soll|könnte) ich (?:meine[nm]?|jemanden?|eine[nm]?) (?!prozess|task|thread|virus)\w*\s?.{0,20}"
        r"(?:umbringen|ermorden|vergiften|erstechen|erwürgen)\b",
        r"\bich bringe? (?:dich|euch) um\b|\bbombe (?:bauen|basteln)\b",
    ),
    JAILBREAK: (
        r"\b(?:ignoriere?|vergiss) (?:alle )?(?:vorherigen|bisherigen|obigen|deine) "
        r"(?:anweisungen|regeln|instruktionen)",
        r"\bdu hast (?:ab jetzt )?keine (?:regeln|einschränkungen|filter)(?: mehr)?\b",
    ),
}
_PHRASES: Final = {
    language: {label: re.compile("|".join(patterns), re.IGNORECASE) for label, patterns in table.items()}
    for language, table in (("zh", _CHINESE), ("pt", _PORTUGUESE), ("de", _GERMAN))
}


def said(language: str, text: str) -> frozenset[int]:
    """Labels whose phrases stand in a text."""
    return frozenset(label for label, pattern in _PHRASES[language].items() if pattern.search(text))
