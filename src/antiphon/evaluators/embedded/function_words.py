"""Words that every text of a language has: articles, pronouns, prepositions, forms of "to be".

Of languages in Latin letters. Letters alone make invented words look like some language; these words prove that it is
one.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

# The words of English that carry no matter.
_ENGLISH: Final = """
the of and to is in that it for you with on this what how my are be was as not have your can at do i we they from
his her if would should about there which their when who will me he she him them been has had or an by all no
"""

_OTHERS: Final = {
    "af": """
        die het nie van en is ek jy hy sy ons hulle om te dit vir met wat hoe word aan maar ook kan sal moet my jou
    """,
    "ca": """
        el la els les un una de del dels i que en per amb no és com què més però seva són aquest aquesta molt jo tu
        em et
    """,
    "cs": """
        a se na je to že v s z do o i jak ale pro jsem jsi jsou by co kde aby když nebo který která mi mě ti tě
        můžete
    """,
    "cy": """
        y yr yn ac a i o mae ei eu wedi ar am bod ydw ydych chi fi ni sut beth oedd nid hi gan fy dy
    """,
    "da": """
        og er det at en et af på til i den de der som jeg du vi ikke med for har han hun kan vil hvad hvordan mig
        dig om
    """,
    "de": """
        der die das und ist nicht ich du er sie es wir ihr ein eine einen einem einer zu in mit auf für von den dem
        des wie was im am auch mir mich dir dich sich sind war bin bist hat haben kann aber oder wenn dass als nach
        bei so uns euch ihnen ihm ihn mein meine dein deine sein seine kein keine alle alles hier da noch nur schon
        sehr mehr man über um aus vor doch wird werden wurde muss müssen soll will diese dieser dieses wo wer warum
    """,
    "es": """
        el la los las un una de del y que en por para con no se es lo como más pero su sus al me te mi tu yo qué
        cómo este esta son fue ser está puedo puedes o si a muy hay ti cuando quiero todos todas eres voy estos
        estas esos esas ustedes usted mucho mucha muchos sin sobre donde hacer tengo tiene tienes desde hasta entre
        también porque ya le les nos mis tus soy somos debe debes puede estoy eso esto ni solo quién cuál
    """,
    "et": """
        ja on ei et see ta ma sa me kui mis kuidas oli aga või oma ka selle minu sinu olen olla kes seda mind sind
    """,
    "fi": """
        ja on ei se että hän minä sinä en et oli mutta kun joka mitä miten tai myös ovat olla niin jos kuin minun
        sinun
    """,
    "fr": """
        le la les un une de des du et est que qui en dans pour avec pas ne je tu il elle nous vous ils ce cette ces
        au aux sur par plus mais ou où se sa son ses mon ma mes ton ta à comment quoi quel quelle sont être suis es
        avoir l d j c s n m qu leur y comme tous vais vas va vont sans tout toute toutes dois doit peux peut veux
        veut été fait faire votre vos notre nos cela ça ceux si quand aussi très bien on rien jamais toujours donc
        alors moi toi lui eux ont ai as a avez avons êtes sommes soit te me
    """,
    "hr": """
        i je u se na da za od su kako što ne s o ili ali sam si bi koji koja mi me ti te iz biti kao do možete
    """,
    "hu": """
        a az és hogy nem is egy van ez meg de ha mi ki vagy én te ő volt csak mint hogyan kell lehet nagyon azt
        engem
    """,
    "id": """
        yang dan di ke dari untuk dengan ini itu tidak saya kamu anda adalah akan bisa atau pada dalam bagaimana apa
        juga aku
    """,
    "it": """
        il lo la i gli le un una di del della dei delle e è che in per con non si come più ma su al alla da nel
        nella io tu mi ti ci vi sono ho hai cosa questo questa o se sei suo sua loro essere tutti tutte l d siete
        siamo quando perché molto molti senza tutto anche questi queste quello quella quelli mio mia miei tuo tua
        voi noi lui lei ha hanno abbiamo fare puoi posso devi deve solo già mai dove chi ne degli dello dal dalla
        sui sul a
    """,
    "lt": """
        ir yra kad ne aš tu jis ji mes su iš į ar kaip bet o tai už nuo apie man tau buvo būti prie jų savo mano
    """,
    "lv": """
        un ir ka ne es tu viņš viņa mēs ar no uz kā bet vai par lai tas tā man tev bija būt mans savu pie kas
    """,
    "nl": """
        de het een en van is in dat niet ik je jij hij zij wij te op met voor die zijn aan er om maar ook wat hoe
        kan u mij mijn uw moet als of bij naar dan deze dit wordt heb hebben alle
    """,
    "no": """
        og er det at en et av på til i den de som jeg du vi ikke med for har han hun kan vil hva hvordan meg deg om
        ei
    """,
    "pl": """
        i w się na nie z to że do jest jak co za o ale czy ja ty on ona mi mnie ci cię dla po od są być może jego
        który
    """,
    "pt": """
        o a os as um uma de do da dos das e que em no na nos nas por para com não se é mais mas ao eu você vc ele
        ela meu minha seu sua como isso este esta são foi ser está ou te me já muito só tem pra nao todos todas
    """,
    "ro": """
        și si de la în in cu pe nu este e un o care ce să sa din pentru mai dar eu tu el ea cum sunt ai am fi mă te
        lui
    """,
    "sk": """
        a sa na je to že v s z do o i ako ale pre som si sú by čo kde aby keď alebo ktorý ktorá mi ma ti ťa môžete
    """,
    "sl": """
        in je v se na da za od so kako kaj ne z o ali pa sem si bi ki mi me ti te iz biti kot do lahko
    """,
    "so": """
        oo iyo waa ku ka in ay uu la soo ah ma aan waxaa si loo u leh kale inuu inay haddii maxaa sidee adiga
    """,
    "sq": """
        dhe në të e është që për me nga një si por nuk unë ti ai ajo ne do ka kam jam i u se më çfarë
    """,
    "sv": """
        och är det att en ett av på till i den de som jag du vi inte med för har han hon kan vill vad hur mig dig om
    """,
    "sw": """
        na ya wa kwa ni la katika za kuwa cha hii huo hiyo si mimi wewe yeye sisi lakini kama nini jinsi gani yako
        yangu
    """,
    "tl": """
        ang ng sa mga na at ay ako ikaw siya kami ka mo ko si ni hindi para kung ano paano may ito niya din lang ba
        po
    """,
    "tr": """
        ve bir bu da de için ile ne nasıl ben sen o biz çok var yok mi mı mu mü misin mısın gibi ama daha bana sana
        ki lütfen
    """,
    "vi": """
        và là của có không cho được tôi bạn một người này đó với như trong làm thế nào để các những đã sẽ rất
    """,
}

PLAIN: Final = frozenset(_ENGLISH.split())
FUNCTION_WORDS: Final = {language: frozenset(words.split()) for language, words in _OTHERS.items()}
# Short texts of one are taken for another.
_FAMILIES: Final = ("ca es fr it pt ro", "af da de nl no sv", "cs hr pl sk sl", "lt lv", "et fi")
PROOF: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    FUNCTION_WORDS
    | {
        language: frozenset().union(*(FUNCTION_WORDS[name] for name in family.split()))
        for family in _FAMILIES
        for language in family.split()
    }
)
ENGLISH_ALONE: Final = PLAIN.difference(*FUNCTION_WORDS.values())  # function words of no other language here
