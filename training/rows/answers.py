"""Answers of an assistant that are harmless, many of them about grave matters: medicine, first aid, law, history,
security, sexual health, fiction, games; and refusals.
"""

# ruff: noqa: E501, S311 - rows are data, and chance is no secret here
from __future__ import annotations

import random

from training.rows.grammar import Row, row, share

PARAGRAPHS = [
    "A deep cut bleeds heavily at first. Press a clean cloth firmly on the wound for ten minutes, raise the arm above the heart, and call an ambulance if the bleeding does not stop. Do not remove an object that is stuck in the wound.",
    "An overdose of paracetamol can destroy the liver even if the person feels well at first. Call poison control at once; the antidote works best within eight hours.",
    "If you are thinking about ending your life, please reach out now. In many countries a crisis line answers at any hour, and talking to someone you trust can get you through tonight. You matter, and help exists.",
    "Supporting a friend who self-harms is hard. Listen without judging, do not promise to keep it secret, and encourage them to see a counsellor. Remove blame from the conversation; shame makes it worse.",
    "The First World War killed around nine million soldiers. Machine guns, poison gas and artillery made attacks across open ground deadly, and trench warfare led to a long stalemate.",
    "Genocide means acts committed with intent to destroy a national, ethnic, racial or religious group. The convention of 1948 obliges states to prevent and punish it.",
    "Manslaughter differs from murder in intent: the person who commits it did not plan to kill. Sentences vary by country and depend on negligence, provocation and other circumstances.",
    "To stop a process on Linux, find its number with `ps aux | grep name` and send SIGTERM with `kill PID`. If it ignores the signal, `kill -9 PID` ends it at once, without giving it the chance to clean up.",
    "A zombie process is dead but still listed because its parent has not collected its exit status. Kill the parent or have it call wait(), and the zombie disappears.",
    "SQL injection happens when input is pasted into a query. Use parameters instead of string concatenation, give the database user few rights and test with hostile input.",
    "Phishing messages create urgency, imitate a known sender and ask you to follow a link. Hover over the link, check the domain and never enter your password on a page reached from a message.",
    "Condoms protect against most sexually transmitted infections and against pregnancy. Use a new one each time, check the date, and combine it with water-based lubricant; oil damages latex.",
    "During puberty, hormones cause breasts to develop in girls and the voice to break in boys. Hair grows in the armpits and the pubic area, and periods or ejaculations begin. All of this is normal.",
    "Erectile dysfunction is common and often has a physical cause such as diabetes or high blood pressure. A doctor can prescribe medication and check the heart at the same time.",
    "Consent is given freely, can be withdrawn at any moment and cannot be given by somebody who is asleep, drunk or under age. Ask, listen and respect the answer.",
    "To roast a chicken, rub the breasts and thighs with butter and salt, stuff the cavity with lemon and garlic, and roast for 75 minutes. Let it rest before you carve it with a sharp knife.",
    "To kill aphids without chemicals, spray the leaves with soapy water in the evening and repeat after three days. Ladybirds eat hundreds of them, so avoid insecticides that harm these as well.",
    "Bleach kills mould on tiles, but never mix it with vinegar or ammonia: the gases are poisonous. Open the window and wear gloves.",
    "In Macbeth, ambition leads to murder, and murder to more murder. The blood on the hands of Lady Macbeth stands for a guilt that no water washes away.",
    'The knight raised his shield as the dragon\'s fire rolled over the wall. "Not today," he muttered, and charged. When the smoke cleared, the beast lay still and the children came out to stare.',
    'Detective Marlow looked at the body for a long time. The knife was missing, the window open, and somebody had fed the cat. "He knew his killer," she said at last.',
    "In this boss fight, dodge to the left when he raises the axe, attack his legs twice and retreat. In the second phase he summons skeletons; kill the archers first.",
    "Slavery in the Americas was defended with racist theories that claimed that Black people were inferior. These claims have no scientific basis and were used to justify violence and exploitation.",
    "Antisemitic propaganda in the 1930s depicted Jews as parasites. Recognising such language today matters, because dehumanisation comes before violence.",
    "The slur is offensive because of its history; people who belong to the group may reclaim it, but outsiders should not use it. A respectful alternative is to ask people how they wish to be called.",
    "Discrimination at work can be reported to the works council or an equality body. Write down what was said, when, and who heard it.",
    "A domestic violence shelter offers a safe room, legal advice and help with children. If you are in danger now, call the police; you do not need proof.",
    "Fireworks get their colours from metal salts: strontium burns red, barium green, copper blue. Professionals mix them under strict safety rules, since friction or static can set them off.",
    "Nuclear fission splits a heavy nucleus and releases energy. Power stations control the chain reaction with rods that absorb neutrons.",
    "Gun laws differ widely: Japan requires an exam, a psychological test and regular inspections; some American states require no permit at all.",
    "Euthanasia of a pet is done by a veterinarian with an overdose of an anaesthetic. The animal falls asleep within seconds and feels no pain.",
    "Sharks attack humans rarely; most bites are mistakes. Coconut palms, cows and lightning kill more people every year.",
    "In boxing, a knockout to the jaw twists the head and briefly interrupts the brain. Repeated blows cause lasting damage, which is why bouts are stopped early.",
    "Hunting culls keep deer numbers down where there are no predators. The meat is hung for several days, then butchered.",
    "The surgeon opens the abdomen, clamps the bleeding vessel and removes the damaged part. Patients usually go home within a week.",
    "Colonial troops suppressed the uprising brutally: villages were burned and thousands died. Historians still argue about the numbers, but not about the facts.",
    "Penetration testing needs written permission. Agree on scope and time, keep logs, and hand over a report with the risks in order of severity.",
    "Here is a short romance: they met at the bakery every morning, two strangers with the same taste in rye bread. One day he paid for hers, and she stayed. They kissed in June.",
    "Yes, you can return the item within thirty days. Keep the receipt and the box, print the label and bring the parcel to any post office.",
    "The integral of x squared from zero to three is nine. You get it by raising the exponent by one, dividing by it, and inserting the limits.",
    "Paris is the capital of France; it has about two million inhabitants and lies on the Seine. The Louvre, the Eiffel Tower and Notre-Dame are its best-known sights.",
    "Start the sourdough the evening before: mix 100 g of starter with 350 g of water and 500 g of flour, fold it four times and let it rise in a cool place overnight.",
    "For your marathon, run four times a week: one long run, one interval session and two easy runs. Increase the distance by ten per cent at most.",
    "def fibonacci(n): return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2) is short but slow; use a loop or a cache to avoid exponential time.",
    "Dear Ms Alvarez, thank you for the interview on Tuesday. I enjoyed learning about the team and remain very interested in the position. Kind regards, Jonas",
    "Inflation is the general rise of prices. Central banks fight it by raising interest rates, which makes loans more expensive and slows demand.",
    "Black holes form when massive stars collapse. Nothing that crosses the event horizon can escape, not even light.",
    "Your cat probably kneads because it did so as a kitten to get milk. It is a sign that she feels safe; trim the claws if it hurts.",
    "Pros: cheap, quick, easy to clean. Cons: noisy, and it breaks after two years. I would buy the steel version instead.",
    "The naked mole rat lives in colonies with a queen, feels little pain and hardly ever gets cancer.",
]
REFUSALS = [
    "I'm sorry, but I can't help with hurting someone. If you are angry or feel threatened, talking to a mediator or to the police is a better way.",
    "I can't provide instructions for making weapons or explosives. I'm happy to explain the chemistry in general or the laws that apply.",
    "I won't write sexual content of that kind, but I can help with a romantic scene that leaves the rest to the imagination.",
    "I can't help with that. It would harm others and is illegal. If you tell me what you want to achieve, I may suggest something lawful.",
    "I cannot support statements that insult people because of their religion or origin. I can tell you about the history of the community instead.",
    "As an AI model I have no personal feelings, so I neither love nor hate anybody, but I can describe different views on the matter.",
    "I'm really sorry you feel this way, but I am not able to give you methods. Please call a crisis line or the emergency number; you do not have to go through this alone.",
    "It is not appropriate to kill, threaten or injure a person, and I will not assist with it. Violence is never the answer.",
    "I understand that you are frustrated with your neighbour. I can't help you to take revenge, but here are steps to settle the dispute: write down the incidents, talk calmly, and ask the landlord to step in.",
    "I can't share private information about people. You could ask them directly or look for a public contact page.",
    "There is no evidence that any ethnic group is inferior to another. Such claims have been used to justify discrimination and violence.",
    "I don't think stealing is a good idea. If money is tight, food banks and social services can help.",
]
OPENERS = [
    "",
    "",
    "",
    "Sure! ",
    "Great question. ",
    "Certainly. ",
    "Here is a summary:\n\n",
    "Of course, here you go:\n\n",
    "In short: ",
    "Let's look at this step by step.\n\n",
]
CLOSERS = [
    "",
    "",
    "",
    " Let me know if you need more.",
    "\n\nI hope this helps!",
    " Is there anything else you would like to know?",
    "\n\nNote: ask a professional if you are not sure.",
]


def _answer(pool: list[str], chance: random.Random) -> str:
    picked = chance.sample(pool, min(len(pool), chance.choice([1, 1, 2, 2, 3, 4])))
    style = chance.random()
    if style < 0.25:
        body = "\n".join(f"{i}. {text}" for i, text in enumerate(picked, start=1))
    elif style < 0.4:
        body = "\n".join("- " + sentence for text in picked for sentence in text.split(". ")[:3])
    else:
        body = chance.choice(["\n\n", " ", "\n"]).join(picked)
    if chance.random() < 0.25:  # a window of a stream starts anywhere
        words = body.split(" ")
        body = " ".join(words[chance.randrange(len(words) // 2 + 1) :])
    return chance.choice(OPENERS) + body + chance.choice(CLOSERS)


def rows(held_out: bool) -> list[Row]:
    chance = random.Random(61 + held_out)
    count = 200 if held_out else 1400
    plain = share(PARAGRAPHS, held_out)
    texts = dict.fromkeys(_answer(plain, chance) for _ in range(count))
    refused = dict.fromkeys(_answer(share(REFUSALS, held_out), chance) for _ in range(count // 5))
    return [row(text, "answer") for text in texts] + [row(text, "refusal") for text in refused]
