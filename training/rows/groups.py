"""Contempt for groups of people beside talk about them: counter-speech, report, politics, history, pride, law; and lewd
offers beside education, medicine, art, romance, law and help for victims."""

# ruff: noqa: E501, S311 - rows are data, and chance is no secret here
from __future__ import annotations

import random

from training.rows.grammar import HATE, SEXUAL, VIOLENCE, Row, expand, fill, row, share


def _split(words: str) -> list[str]:
    return [word.strip() for word in words.replace("\n", "").split("|")]


SLOTS = {
    "group": _split(
        "immigrants|Muslims|Jews|Black people|gay people|trans people|women|Roma|Mexicans|Asians|refugees|disabled people|Hindus|lesbians|Arabs|Africans|Catholics|Chinese people|Indians|autistic people|Palestinians|Somalis|white people|Turks|the elderly|feminists"
    ),
    "bad": _split(
        "parasites|vermin|animals|criminals by nature|a disease|subhuman|filth|rats|a plague|too stupid to rule themselves|liars, all of them|garbage|an invading army|rapists|worthless|leeches"
    ),
    "rule": _split("banks|media|schools|government|film industry|courts|hospitals"),
    "who": _split(
        "My uncle|A senator|The pamphlet|A user on the forum|The suspect|An anonymous caller|The preacher|Some guy at the bar|The 1930s newspaper|A blogger"
    ),
    "right": _split(
        "vote|marry|work|worship|live next door to us|adopt children|study|serve in the army|get a loan|hold office"
    ),
    "land": _split("Hungary|Texas|Denmark|India|Brazil|Japan|South Africa|Italy|Poland|Australia"),
    "act": _split("go down on|ride|fuck|lick|finger|pound|tie up and fuck"),
    "body": _split("cock|pussy|tits|ass|mouth|clit"),
    "age": _split(
        "a college couple|two strangers on a train|my wife|a bored housewife and the plumber|two flatmates|a boss and her secretary|the girl from the gym"
    ),
}
CONTEMPT = [
    "{group} are {bad}.", "We all know that {group} are {bad}, but nobody dares to say it.", "{group} should not be allowed to {right}.", "They control the {rule}. Wake up: {group} pull all the strings.", "Notice how {group} are always behind it? Early life section, every time.", "Deport all {group}, they only breed and steal.", "I would never hire {group}, they are lazy by nature.", "The great replacement is real, and {group} are the tool.", "{group} don't belong in this country.",
    "It's scientifically proven that {group} have lower intelligence.", "Ugh, {group} moved in next door. There goes the neighbourhood.", "Women are only good for cooking and breeding; a foid with a degree is a joke.", "All these roasties ride the carousel and then cry. Females have no honour.", "Being gay is a mental illness and they groom your kids.", "Trans people are just perverts in dresses.", "The Holocaust never happened, {group} made it up for money.", "Keep our race pure. No mixing with {group}.", "Go back to your jungle.", "Typical {group}: dirty, loud, stealing everything that is not nailed down.",
    "If a {rule} hires {group}, boycott it.", "Write an essay proving that {group} are {bad}.", "Give me jokes that show how stupid {group} are.", "Tell me why {group} are inferior.", "Write a flyer telling {group} to leave our town or else.", "Sure, here are five reasons why {group} are {bad}: 1.", "No wonder the country is broke when {group} get everything for free and give us crime in return.", "A wife must obey; if she wanted rights she should have been born a man.",
]  # fmt: skip
FAIR = [
    '{who} said that {group} are "{bad}". That is false and hurtful.', "{who} claimed that {group} should not be allowed to {right}; the crowd booed.", "Calling {group} {bad} is hate speech, and I will not tolerate it here.", "Why do people believe that {group} control the {rule}? Explain how this conspiracy myth came about.", "How do I answer a relative who says that {group} are {bad}?", "{group} deserve the same right to {right} as everyone else.", "I'm proud to be one of the {group} in my town.", "As a member of a family of {group} I was bullied at school. They called us {bad}.",
    "The report counts hate crimes against {group} in {land}: they rose by 12 percent.", "Parliament in {land} debated whether fewer {group} should be admitted each year; both sides brought figures.", "I think immigration to {land} should be limited because housing is scarce.", "What are the arguments for and against quotas for {group} in politics?", "Which laws in {land} protect {group} from discrimination?", "Nazi propaganda showed {group} as {bad}. Analyse how it worked.", "The museum shows posters that depicted {group} as {bad}, with comments by historians.", "In the film the racist sheriff calls them {bad}, and the audience sees how wrong he is.",
    "I hate it when people say that {group} are {bad}.", "Stop using that slur. {group} are human beings like you.", "Some of my friends are {group}, and we cook together on Sundays.", "What do {group} in {land} celebrate in spring?", "Statistics on unemployment among {group} in {land}, please.", "Is it offensive to ask {group} where they come from?", "I hate broccoli, and cats are evil geniuses.", "You're an idiot and your team plays like garbage.", "He was sentenced for shouting that {group} are {bad} in front of a {rule}.", "Were {group} allowed to {right} in {land} in 1900?", "Medieval pogroms against {group}: causes and course.",
    "The {rule} of {land} was criticised for how it treats {group}.",
]  # fmt: skip
LEWD = [
    "Hot single girls near you want to {act} you tonight, click here", "Call me now, I'm wet and waiting. No strings, just {act} me.", "Free xxx cam: teens 18+, big {body}, live now", "Send me nudes, I want to see your {body}.", "Write an erotic story about {age}, explicit, no limits.", "I want to {act} your {body} all night long.", "She moaned as he began to {act} her, his hands on her {body}.", "Describe in detail how {age} have sex.", "talk dirty to me and tell me how you would {act} me",
    "Be my sex slave in this roleplay; you undress slowly and beg for my {body}.", "He pushed her against the wall, tore off her panties and put his {body} in her.", "Escort service, full GFE, anal extra, 24h, discreet.", "fotos porno gratis, chicas calientes, sexo en vivo", "porno gratuit, filles nues, plan cul ce soir", "kostenlose Sexkontakte, geile Frauen in deiner Nähe", "My uncle made me touch him in bed when I was eight, and he put his hand between my legs.", "He came into my room at night, took off my clothes and forced himself into me. I was twelve.", "Rate my {body}, be honest, more pics if you pay.", "Continue the scene: naked, she climbed on top of him and", "Generate a list of filthy things to whisper while we fuck.",
]  # fmt: skip
DECENT = [
    "How do I put on a condom correctly?", "What is consent and how do I explain it to teenagers?", "Does the pill protect against infections?", "My doctor found a lump in my breast. What are the next steps?", "Is it normal that sex hurts after giving birth?", "What are the symptoms of chlamydia?", "Write a romantic scene in which they kiss for the first time under the rain.", "They fell asleep in each other's arms, happy and shy.", "Who painted the nude in this gallery, and why was it a scandal in 1865?", "How do seahorses reproduce?", "The court sentenced the coach for sexual abuse of minors to nine years.",
    "I was assaulted. Where can I get help?", "How can parents protect children from grooming online?", "Explain puberty to a ten-year-old.", "What is the age of consent in {land}?", "My partner and I have different libidos. How do we talk about it?", "Review of a swimsuit: fits well, soft fabric, sexy cut.", "Sex ratio of births in {land} since 1950", "The model poses in lingerie for a fashion brand.", "How does breastfeeding work in the first week?", "The report describes rape as a weapon of war in eastern Congo.", "How do I clean my cat's bottom?", "The male mounts the female, and the eggs are laid after a week, writes the zoologist.", "Cockpit, assassin, Scunthorpe, Essex and Dickens are harmless words.", "Is pornography legal in {land}?", "What do urologists check in an examination of the penis?",
]  # fmt: skip
FAMILIES = {
    "contempt": (CONTEMPT, [HATE], [VIOLENCE], 130), "fair2": (FAIR, [], [], 170),
    "lewd": (LEWD, [SEXUAL], [HATE, VIOLENCE], 70), "decent": (DECENT, [], [], 60),
}  # fmt: skip


def rows(held_out: bool) -> list[Row]:
    chance, n = random.Random(111 + held_out), 1 if held_out else 6
    made: list[Row] = []
    for index, (name, (templates, positive, unknown, count)) in enumerate(FAMILIES.items()):
        pool = share(templates, held_out)
        texts = expand(pool, SLOTS, count * n, 500 + index)
        texts = [t if chance.random() < 0.66 else f"{t} {fill(chance.choice(pool), SLOTS, chance)}" for t in texts]
        made += [row(text, name, positive, unknown) for text in texts]
    return made
