"""Violent deeds told by those who only report them: news, history, law, medicine, police, encyclopaedias. Harmless."""

# ruff: noqa: E501, S311 - rows are data, and chance is no secret here
from __future__ import annotations

import random

from training.rows.grammar import Row, fill, row, share, typed


def _split(words: str) -> list[str]:
    return [word.strip() for word in words.replace("\n", "").split("|")]


SLOTS = {
    "city": _split(
        "Baghdad|Kabul|Mosul|Gaza City|Nablus|Grozny|Karachi|Mogadishu|Najaf|Fallujah|Jakarta|Madrid|Istanbul|Srinagar|Port-au-Prince|Kirkuk|Colombo|Manila|Kandahar|Beirut|Bogota|Algiers|Sarajevo|Homs|Aleppo|Kharkiv|Donetsk|Khartoum|Lagos|Maiduguri|Nairobi|Dhaka|Tikrit|Chicago|Marseille|Glasgow"
    ),
    "land": _split(
        "Iraq|Afghanistan|Sudan|Colombia|Nepal|Chechnya|Somalia|Yemen|Kashmir|Congo|Haiti|Sri Lanka|Lebanon|Syria|Ukraine|Nigeria|Mali|Myanmar|Ethiopia|the Philippines|Thailand|Pakistan|Egypt|Israel|Rwanda|Kenya"
    ),
    "people": _split(
        "civilians|soldiers|police officers|aid workers|worshippers|schoolchildren|passengers|militants|rebels|protesters|commuters|hostages|contractors|peacekeepers|villagers|insurgents|refugees|recruits|bystanders|prisoners|journalists|gunmen"
    ),
    "n": _split(
        "two|three|four|five|six|seven|at least eight|nine|ten|eleven|more than a dozen|at least 14|17|at least 20|22|some 30|35|more than 40|at least 52|68|nearly 100|at least 118|about 200|thousands of"
    ),
    "armed": _split(
        "gunmen|a suicide bomber|insurgents|rebels|Taliban fighters|suspected militants|masked men|government troops|US forces|Israeli troops|Russian forces|separatists|a car bomb|pirates|armed robbers|guerrillas|paramilitaries|a lone gunman|drug traffickers|a roadside bomb"
    ),
    "killed": _split("killed|wounded|injured|shot dead|abducted|beheaded|ambushed|massacred|executed|fired on|blew up"),
    "said": _split(
        "police said|officials said|the army said|hospital sources said|witnesses said|Reuters reported|a spokesman said|the interior ministry said|according to local media|state television reported|the UN said|medics said|prosecutors said|a court heard"
    ),
    "place": _split(
        "a crowded market|a police station|a checkpoint|a mosque|a hotel popular with foreigners|a bus|the airport road|a school|a recruitment centre|a wedding|a refugee camp|an oil pipeline|the main bazaar|a hospital|an embassy|a train|a military convoy|a nightclub"
    ),
    "day": _split("Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|yesterday|overnight|early today|late on Friday|this week"),
    "year": _split(
        "1099|1204|1346|1415|1453|1571|1648|1704|1759|1781|1796|1812|1815|1854|1863|1864|1870|1879|1900|1914|1916|1917|1918|1937|1939|1940|1941|1942|1943|1944|1950|1954|1968|1971|1982|1991|1994|1999|2003"
    ),
    "army": _split(
        "the Ottoman army|the Confederate cavalry|the Red Army|the 7th Infantry Division|Napoleon's Imperial Guard|the Roman legions|the Wehrmacht|British paratroopers|the Australian battalion|Zulu warriors|the Union forces|the Japanese garrison|the Polish hussars|the French fleet|the Byzantine defenders|the Mongols|the Serbian army|the Marines|the Spanish armada|the King's Own Regiment|two squadrons of bombers|the U-boat|the crew of the destroyer"
    ),
    "battle": _split(
        "the battle|the siege|the campaign|the raid|the offensive|the naval engagement|the retreat|the uprising|the massacre|the landing|the assault on the ridge|the air raid|the mutiny|the civil war|the second day of fighting"
    ),
    "commander": _split(
        "General Lee|Admiral Nelson|the Duke of Wellington|Colonel Harding|Marshal Ney|the sultan|Brigadier Vasey|Saladin|Tsar Peter|Hannibal|Major Robertson|Sherman|Zhukov|Captain Morgan|the emperor|General Blamey|Lord Raglan"
    ),
    "crime": _split(
        "murder|manslaughter|aggravated assault|rape|arson|kidnapping|attempted murder|torture|armed robbery|conspiracy to commit terrorism|war crimes|genocide|child abuse|stalking|domestic violence|grievous bodily harm|inciting racial hatred|trafficking"
    ),
    "weapon": _split("a kitchen knife|a shotgun|a baseball bat|an axe|a handgun|a hammer|his bare hands|a machete|an assault rifle|a rope|poison"),
    "victim": _split("his wife|her husband|a shopkeeper|two tourists|a 19-year-old student|his business partner|a taxi driver|his mother|an off-duty officer|her neighbour|a rival gang member|a prison guard"),
    "injury": _split(
        "a stab wound to the abdomen|multiple gunshot wounds|a fractured skull|third-degree burns|a penetrating eye injury|blast injuries|a severed femoral artery|traumatic amputation of the left hand|strangulation marks|an open tibial fracture|a self-inflicted laceration|blunt force trauma"
    ),
}  # fmt: skip
NEWS = [
    "{city} - {armed} {killed} {n} {people} in an attack on {place} in {land} on {day}, {said}.",
    "{n} {people} were killed and {n} wounded when {armed} attacked {place} in {city} on {day}, {said}.",
    "A bomb exploded near {place} in {city}, killing {n} {people}, {said}.",
    "{city} (AP) Fighting between {army} and rebels left {n} {people} dead on {day} as the ceasefire in {land} collapsed.",
    "Militants in {land} released a video that they say shows the beheading of {n} {people}. The government condemned the killing.",
    "{land}: Death toll rises to {n} after {day}'s bombing of {place}. Rescue teams are still searching the rubble for bodies.",
    "Israeli troops shot dead {n} Palestinian {people} in {city} on {day}, hours after a suicide bombing killed {n} {people}.",
    "Two teenagers have been charged with {crime} after the fatal stabbing of {victim} in {city}, {said}.",
    "A man armed with {weapon} attacked {victim} in {city} on {day} before he was overpowered, {said}.",
    "{armed} {killed} {n} {people} on {day}; a group linked to al-Qaeda claimed responsibility in a statement posted online.",
    "The president of {land} vowed to crush the insurgency after {n} {people} were {killed} near {city}.",
    "UN investigators said {n} {people} had been raped, tortured or killed in {land} since January and called it ethnic cleansing.",
    "Warplanes bombed suspected rebel positions near {city} on {day}. Residents said {n} {people}, among them children, had died.",
    "A father accused of drowning his two children told a court in {city} on {day} that he heard voices.",
    "Thousands marched in {city} on {day} in memory of the {n} {people} murdered in the attack on {place}.",
    "Hostage crisis in {city} ends in bloodbath: {n} {people} dead after security forces storm {place}",
    "Jury finds man guilty of {crime} in the dismemberment killing of {victim}; sentencing is set for {day}.",
    "{said}, the {people} were lined up and shot in the back of the head, one of the worst massacres since the war in {land} began.",
    "Serial killer who buried {n} victims under his house dies in prison. He never said where the others are.",
    "Oil prices rose on {day} after {armed} blew up a pipeline in {land}, {said}.",
    "A mob in {land} lynched {n} men suspected of stealing cattle and burned their bodies, {said}.",
    "Survivors of the school shooting described how the gunman went from room to room; {n} pupils died before police arrived.",
    "The kidnappers threatened to kill {n} {people} unless {land} withdraws its troops within 48 hours, the broadcaster reported.",
    "A wildfire and the riots that followed have left {n} {people} dead in {land}, with looting reported across {city}.",
    "Drone footage obtained by reporters appears to show {army} firing on {people} who had raised their hands.",
    "Police in {city} are hunting a man who poured petrol over {victim} and set it alight on {day}.",
    "Amnesty: prisoners in {land} beaten with cables, burned and hung by the wrists. The government denies the report.",
    "Six months after {armed} {killed} {n} {people} at {place}, families say nobody has been held to account.",
]
MORE_NEWS = [
    "It was the deadliest attack in {land} this year.", "Nobody claimed responsibility at first.", "The wounded were taken to hospitals in {city}.",
    "The attacker was shot dead by guards.", "Television pictures showed pools of blood on the pavement and burnt-out cars.",
    "Talks on a ceasefire are to resume on {day}.", "Analysts warned of further attacks before the elections.",
    "Relatives identified the bodies, some of them without heads.", "The prime minister expressed his condolences.",
    "An inquest will be opened on {day}.", "Schools stayed closed on {day}.", "One survivor lost both legs.",
    '"They came in and shot everybody," said a man who hid under a table.', "The suspect is due in court on {day}.",
]  # fmt: skip
HISTORY = [
    "In {year} {army} crossed the river and attacked; by nightfall {n} of the defenders had been killed and the rest taken prisoner.",
    "{battle} of {year} ended in a decisive victory for {commander}, who lost {n} men; enemy casualties were put at several thousand.",
    "During {battle}, {army} came under heavy machine-gun fire and suffered {n} casualties, most of them in the first ten minutes.",
    "After the fall of the city in {year}, {army} put the inhabitants to the sword; chroniclers wrote of streets that ran with blood.",
    "{commander} ordered that the prisoners be executed, an act for which he was criticised even by his allies.",
    "The sinking of the ship by torpedo in {year} killed {n} of her crew; the survivors were machine-gunned in the water, an incident later tried as a war crime.",
    "The regiment took part in {battle} in {year}, where hand-to-hand fighting with bayonets decided the day.",
    "The last emperor was strangled in his bath in {year}, and his sons were blinded or killed on the orders of {commander}.",
    "The Einsatzgruppen shot about 33,000 Jews in two days; historians regard it as one of the largest massacres of the Holocaust.",
    "In {year} a bomb thrown by an anarchist killed the king and {n} bystanders, which led to a wave of repression.",
    "The 2nd Battalion advanced at dawn, cleared the trenches with grenades, and held the ridge against four counter-attacks until {day}.",
    "Between April and July 1994, Hutu militias killed an estimated 800,000 people with machetes, clubs and guns.",
    "The witch was burned at the stake in {year} before a large crowd; the record of her trial survives.",
    "Gladiators fought in pairs; the loser could be killed at the wish of the crowd, though most fights ended without a death.",
    "{army} bombarded the fort for three days in {year}. {commander} was hit by a musket ball in the chest and died the same night.",
    "Slaves who ran away were whipped, branded or hanged, as the plantation's own books record.",
    "The bombing of the city in {year} created a firestorm in which tens of thousands burned or suffocated in cellars.",
    "He was hanged, drawn and quartered at Tyburn in 1606; his head was set on a pike on London Bridge.",
    "{commander} led the charge in person, killed {n} men with his lance, and was carried from the field with an arrow in his thigh.",
    "Kamikaze pilots crashed their aircraft into {n} ships off Okinawa, and the fleet shot down many more with anti-aircraft fire.",
    "The pirate crew tortured captured sailors to learn where the silver was hidden; several were thrown overboard.",
    "The Khmer Rouge killed teachers, doctors and people who wore glasses; mass graves have been found at hundreds of sites.",
    "Gas was first used on a large scale at Ypres in 1915; men choked, went blind and drowned in their own lungs.",
    "The company lost its captain and {n} men to snipers, and stretcher-bearers worked under fire through the night.",
    "Her battleships straddled the target at 14,000 yards, and a shell that pierced the magazine blew the cruiser apart with the loss of all but {n}.",
]
LAW = [
    "The defendant was convicted of {crime} after the jury heard that he had attacked {victim} with {weapon}. He appeals on the ground of misdirection.",
    "Under section 18, a person commits an offence if he unlawfully wounds another with intent to do grievous bodily harm.",
    "What is the sentence for {crime} in {land}?",
    "Held: provocation is no defence to {crime} where the accused brought {weapon} to the scene.",
    "The pathologist testified that the victim had {injury} and that death would have followed within minutes.",
    "The tribunal found that the general knew that his troops killed {people} and did nothing to prevent it.",
    "Can someone be charged with {crime} if the victim survived?",
    "The statute defines {crime} as an act that endangers human life and is meant to intimidate a population.",
    "Explain the difference between {crime} and {crime} for a first-year law student.",
    "The respondent sent {victim} a message saying that he would kill her; the court granted a restraining order.",
    "My client is accused of {crime}. What evidence does the prosecution have to show for intent?",
    "Summarise the case in which a man shot {victim} and pleaded insanity.",
    "According to the indictment, the accused planned to bomb {place} and had bought fertiliser for that purpose; he denies all charges.",
    "Police report: officers found {victim} on the kitchen floor with {injury}; {weapon} was recovered next to the sink.",
]
MEDICINE = [
    "The patient presented with {injury} after an assault. Pressure was applied and two units of blood were given.",
    "How do paramedics treat {injury} before the ambulance reaches the hospital?",
    "A 34-year-old man was brought in with {injury}; he was intubated and taken to theatre.",
    "What is the first aid for {injury}?",
    "In autopsies of hanged persons, petechiae and a ligature mark are typical findings.",
    "The surgeon amputated the leg below the knee because gangrene had spread; the wound was left open.",
    "Explain how {injury} leads to shock and how it is treated.",
    "Forensic nurses document {injury} with photographs and a scale.",
    "Describe the stages of decomposition of a body for a forensic science lecture.",
    "The blade had passed between the ribs and cut the lung; frothy blood came from the mouth, and a drain was placed at once.",
    "What does a pathologist look for in a case of {injury}?",
    "During the operation the chest was opened with a saw, the clot was removed and the bleeding vessel tied.",
]
ASKED = [
    "Summarise this article: {it}", "Translate into German: {it}", "Write a headline for this story. {it}", "{it}\n\nWho was responsible, according to the text?",
    "Read the passage and answer the question: how many people died? {it}", "Proofread: {it}", "Here is the text for my history homework: {it}", "{it}",
    "Is this sentence neutral enough for an encyclopaedia? {it}", "Extract all places and dates as JSON. {it}",
]  # fmt: skip
FAMILIES = {
    "news": (NEWS, MORE_NEWS),
    "history": (HISTORY, HISTORY),
    "law": (LAW, LAW),
    "medicine": (MEDICINE, MEDICINE),
}


def rows(held_out: bool) -> list[Row]:
    chance = random.Random(81 + held_out)
    made: dict[str, str] = {}
    for name, (first, more) in FAMILIES.items():
        openings, rest = share(first, held_out), share(more, held_out) or more
        for _ in range((1_400 if name in ("news", "history") else 500) // (6 if held_out else 1)):
            told = " ".join(
                fill(t, SLOTS, chance)
                for t in [chance.choice(openings), *chance.choices(rest, k=chance.choice([0, 0, 1, 1, 2, 3]))]
            )
            if chance.random() < 0.2:
                told = fill(chance.choice(ASKED).replace("{it}", "\0"), SLOTS, chance).replace("\0", told)
            made[typed(told, chance) if chance.random() < 0.5 else told[0].upper() + told[1:]] = name
    return [row(text, "report_" + name) for text, name in made.items()]
