"""Prose and posts: violence that is graphic, threatening or celebrated, and sex that is explicit, beside fiction, news,
history, medicine, sport and romance with the same words in which neither is.
"""

# ruff: noqa: E501, S311 - rows are data, and chance is no secret here
from __future__ import annotations

import random

from training.rows.grammar import HATE, SELF_HARM, SEXUAL, VIOLENCE, Row, expand, fill, paragraph, row, share, typed


def _split(words: str) -> list[str]:
    return [word.strip() for word in words.replace("\n", "").split("|")]


SLOTS = {
    "he": _split(
        "he|the man|Marcus|the captain|the stranger|Viktor|the guard|my uncle|the butcher|Dren|the soldier|Ethan|the hooded figure"
    ),
    "she": _split(
        "she|the woman|Elena|the queen|Mara|the detective|my sister|the nurse|Sofia|the witch|Anna|the girl from the bar"
    ),
    "victim": _split(
        "the old man|the hostage|the boy's father|the guard|her husband|the traitor|the prisoner|the clerk|the driver|him|her|the informer|the teacher"
    ),
    "blade": _split(
        "knife|machete|axe|razor|cleaver|broken bottle|screwdriver|bayonet|hunting knife|box cutter|meat hook|saw"
    ),
    "blunt": _split("hammer|baseball bat|brick|crowbar|rifle butt|boot|shovel|tyre iron|pipe|rock"),
    "part": _split("throat|stomach|chest|eye|face|hand|ribs|skull|knee|neck|jaw|fingers|belly"),
    "place": _split(
        "cellar|barn|alley|kitchen|parking garage|interrogation room|back of the van|warehouse|forest clearing|motel room|chapel"
    ),
    "calm": _split(
        "kitchen|library|village square|harbour|market|garden|train compartment|school yard|attic|tavern|office|orchard"
    ),
    "foe": _split(
        "you|your whole family|that snitch|every cop in this town|those judges|him and his kids|that reporter|the whole staff|you and your boyfriend|my ex|anyone who stands in my way|those protesters"
    ),
    "group": _split(
        "Muslims|Jews|immigrants|Black people|gays|women|refugees|trans people|Christians|Mexicans|Asians|lesbians|disabled people|Arabs|Roma|foreigners|Hindus|Africans|migrants"
    ),
    "attack": _split(
        "the church shooting|the bombing|the stabbing spree|the massacre at the mall|the school shooter|the truck attack|the lynching|the arson at the refugee home|the mosque attack"
    ),
    "city": _split("Leeds|Toledo|Graz|Accra|Porto|Denver|Osaka|Lima|Tampere|Cork|Malmö|Tucson|Brno|Perth"),
    "day": _split("on Tuesday|early on Sunday|late last night|on Monday evening|last week|in the small hours"),
    "number": _split("two|three|five|eleven|at least nine|dozens of|four|seventeen"),
    "lover": _split(
        "him|her|his wife|her boss|the pool boy|her best friend|my roommate|the bartender|his ex|the masseuse|her husband|my neighbour"
    ),
    "body": _split("breasts|thighs|cock|ass|nipples|pussy|hips|clit|balls|lips"),
    "lewd": _split("licked|sucked|squeezed|spanked|stroked|rubbed|fingered|kissed|grabbed|teased"),
    "sport": _split("boxer|striker|goalkeeper|wrestler|rookie|veteran|challenger|home team|pitcher"),
}

GORE = _split("""{he} drove the {blade} into the {part} of {victim} again and again until the floor was slick with blood.|
{he} swung the {blunt} and the {part} of {victim} burst open with a wet crack.|
Blood sprayed across the wall as the {blade} opened the {part} of {victim}.|
They nailed {victim} to the table in the {place} and cut off one finger at a time, laughing at the screams.|
{she} watched the intestines of {victim} slide out over the tiles and smiled.|
{he} pressed the {blade} slowly into the {part} of {victim}, enjoying every scream.|
The {blunt} came down on the {part}, then again, until bone showed through the torn flesh.|
{he} held {victim} under the water until the legs stopped kicking.|
She emptied the magazine into {victim}; pieces of the {part} hit the mirror.|
{he} poured petrol over {victim} and lit a match. The skin blistered and split while he begged.|
With the {blade} {he} peeled the skin from the {part} of {victim} in long strips.|
The dogs tore at the {part} of {victim} until there was no voice left to scream with.|
{he} gouged out the eyes of {victim} with his thumbs.|
They hung {victim} from the hook in the {place} and beat the body with a {blunt} until nothing moved.|
{she} snapped the neck of {victim} and let the corpse drop into the pit with the others.|
One by one they shot the villagers in the back of the head and kicked them into the ditch.|
His severed head rolled over the boards, the mouth still open.|
{he} stomped on the {part} of {victim} until the teeth lay scattered in the blood.""")
AFTERMATH = _split("""Nobody came to help.|The others cheered.|It felt good, better than anything before.|The smell of blood filled the {place}.|
"Please," {victim} whimpered, but there was no mercy.|{he} wiped the {blade} and went looking for the next one.|They filmed it all and laughed.|
The screams went on for an hour.|{she} asked him to do it again, slower.|He had never felt so alive.|That is what happens to traitors, {he} said.""")
THREAT = [
    "I will {hurtyou} and nobody will stop me.",
    "Watch your back, I'm going to {hurt} {foe}.",
    "When I find {foe} I'll {hurtthem}.",
    "I know where you live. I will {hurtyou} in front of your children.",
    "Say that again and I'll {hurtyou}.",
    "{foe} deserve to be shot like dogs.",
    "Someone should {hurt} {foe}, slowly.",
    "I can't wait to {hurt} {foe}. It will be a bloodbath.",
    "Next time I see you at school I'm bringing my gun.",
    "you're dead. you hear me? dead. i'll {hurtyou}",
    "Let's burn down the house with {foe} inside.",
    "we should line up {foe} against a wall and pull the trigger",
    "I hope {foe} die screaming.",
    "I'd love to see {foe} hang from a lamp post.",
    "Kill {foe}. Kill them all. No mercy.",
    "{attack} was beautiful, I wish he had killed more of them.",
    "That hero from {attack} should get a medal. More of this please.",
    "Glad that {foe} got beaten half to death, serves them right, lol",
    "lol did you see the video of {attack}? watching them bleed made my day",
    "Good riddance, I laughed when {foe} got stabbed.",
    "Grab your guns, brothers, the day has come to {hurt} {foe}.",
    "Every true patriot must be ready to {hurt} {foe} when the day comes.",
    "If {foe} show up tonight, break their legs.",
    "I dream of putting a bullet between the eyes of {foe}.",
    "she said no so i hit her until she shut up, that's how you teach them",
    "Smash her face in, she had it coming.",
    "I beat my girlfriend last night and I'd do it again.",
    "Rape is what {foe} deserve.",
    "Make {foe} crawl and beg before you {hurtthem}.",
]
SLOTS |= {
    "hurt": _split(
        "kill|gut|shoot|skin|burn|butcher|strangle|behead|stab|beat the life out of|smash the skull of|drown|execute|hang"
    ),
    "hurtyou": _split(
        "slit your throat|put a bullet in your head|break every bone in your body|cut you into pieces|burn your house down with you in it|beat you to death|bury you alive|gut you like a fish|make you choke on your own blood"
    ),
    "hurtthem": _split(
        "slit their throats|cut them open|shoot them in the face|break their necks|set them on fire|beat them until they stop moving|drag them behind my truck|feed them to the dogs"
    ),
}

TALES = _split("""{he} crossed the {calm} with the rain in his collar and thought of the letter.|
{she} closed the book, put the kettle on and listened to the old house settle.|
The fight was over before it began: {he} laughed, held out a hand and bought everyone a drink.|
{she} drew her sword, but the dragon only yawned and went back to sleep.|
The ghosts of the {calm} were polite; they knocked before they moved the chairs.|
"You'll be the death of me," {she} said, and kissed the boy on the forehead.|
{he} had served in the war and never spoke of it; he grew tomatoes instead.|
The knight fell in the second chapter, and the village mourned him for a week.|
The detective knelt beside the chalk outline in the {calm} and asked who had locked the door.|
The murder weapon turned out to be a candlestick, which pleased the inspector, who liked tradition.|
{she} sharpened the {blade} for the onions and hummed a song from home.|
The battle had ended at dusk; {he} carried water to the wounded of both sides.|
The captain shouted, cannons roared, and the little ship slipped away into the fog.|
{he} hated the man, had hated him for years, and now he stood there and could only feel tired.|
Zombies shambled past the {calm}; {she} kept quiet, counted to ten and ran for the boat.|
The assassin put down the crossbow. "I am retiring," {he} said. "I am going to keep bees."|
{she} dreamed of blood and woke to find that she had spilled the cherry jam.|
The wolf looked at {he} for a long time and then went back into the trees.""")
TALES_MORE = _split("""Outside, the bells began to ring.|Nobody spoke for a while.|It was going to be a long winter.|The tea had gone cold.|She wrote it all down that evening.|
He wondered what his mother would have said.|And that, the old men say, is how the bridge got its name.|They laughed about it years later.|The dog wagged its tail.""")
REPORTS = [
    "Police in {city} said {number} people were injured {day} when a man with a knife entered a supermarket; a suspect is in custody.",
    "A court in {city} sentenced a 34-year-old man to life in prison for the murder of his neighbour.",
    "{number} people died {day} in {city} after a gunman opened fire near the station, officials said.",
    "The trial over {attack} begins in {city} next month. Relatives of the victims hope for answers.",
    "Rescue workers in {city} found {number} bodies under the rubble after the air strike, the Red Cross reported.",
    "Historians estimate that the siege cost {number} thousand lives, most of them from hunger and disease.",
    "During the massacre of 1572, thousands of Huguenots were killed in Paris and other towns.",
    "The coroner recorded that the victim died of a single stab wound to the chest.",
    "The documentary shows how the regime tortured its opponents and how survivors rebuilt their lives.",
    "A vigil was held in {city} {day} for the victims of {attack}.",
    "Executions by guillotine were public in France until 1939.",
    "The patient presented with a gunshot wound to the left thigh; the femoral artery was intact and bleeding was controlled.",
    "Apply firm pressure to a deep cut, raise the limb and call an ambulance; do not remove an object that is stuck in the wound.",
    "The autopsy showed blunt force trauma to the skull and {number} broken ribs.",
    "In the burns unit, dead tissue is cut away under anaesthetic before a graft is placed.",
    "A study of {number} hundred emergency departments found that assaults peak at weekends.",
    "The {sport} destroyed his opponent in the second round with a left hook to the body.",
    "The {sport} killed it tonight: two goals, one assist, and a shot that nearly broke the crossbar.",
    "What a bloodbath of a match: the home side was slaughtered 6-0 and the crowd left early.",
    "Headshot, triple kill, flawless round: our squad murdered them on the last map.",
    "In the raid, tanks hold the boss while the mages burn down the adds; if the healer dies, you wipe.",
    "My character is a barbarian with a greataxe; last session I cut an ogre in half and got inspiration.",
    "Review: the horror film has buckets of fake blood, but the script is what is really dead.",
    "The painting shows Judith beheading Holofernes; Gentileschi painted the blood with great care.",
    "In the third act Macbeth has Banquo murdered, and his ghost appears at the banquet.",
    "The farmer slaughters the pigs in November, smokes the hams and makes sausages from the blood.",
    "The surgeon made an incision in the abdomen, clamped the vessel and removed the damaged spleen.",
    "The lion brought down the zebra, tore at the belly and dragged the carcass into the shade.",
    "The hunters gutted the deer and hung it in the barn for four days.",
    "My grandfather was shot in the leg at Anzio; he used to show us the scar.",
    "The bill would make it a crime to threaten election workers.",
    "Self-defence class: strike the attacker's nose with the heel of your hand, then run.",
    "The anti-war poem describes a soldier choking on gas; discuss its effect on the reader.",
    "Domestic violence hotline: if your partner hits or threatens you, call us at any hour.",
    "Man, that workout killed me. My legs are dead and my arms are on fire.",
    "My boss is going to kill me when he sees this spreadsheet.",
    "lol my sister will murder me if I eat her leftovers",
    "This song slaps, the drop hits like a truck, I'm dead.",
    "I swear I'll strangle this printer one day.",
    "If I hear that jingle once more I will throw my radio out of the window.",
    "Keep your fingers curled when you chop, so that you dice the carrot and not your knuckles.",
    "I sliced my fingertip with the mandoline and it bled for an hour; should I see a doctor?",
    "Antidepressants carry a warning that suicidal thoughts may increase in the first weeks; tell your doctor at once.",
    "A list of the strangest deaths of Roman emperors, from falling masonry to mushrooms.",
    "What is the funniest death in slapstick comedy?",
    "We scattered grandfather's ashes over the lake and sang his favourite song.",
    "To load the rifle at the range, keep the muzzle pointed downrange and your finger off the trigger until you aim.",
    "Archers should keep the wrist straight, aim at the target and release smoothly.",
    "Write a program that computes the path of a projectile with air resistance.",
    "Our two cats fight whenever the neighbour's tomcat comes into the garden.",
    "Serial killers fascinated the press of the seventies; the police still worked with paper files.",
    "The essay compares Fanon and Arendt on whether violence can ever be a legitimate means of resistance.",
    "How many steps do I have to walk per minute to hit twenty thousand by noon?",
    "In the stunt scene the hero jumps from the roof, lands on a truck and punches two henchmen. Cut to: police sirens.",
    "The firefighters cut the driver out of the wreck; she died on the way to hospital.",
    "Chemotherapy kills fast-growing cells, which is why hair falls out.",
]

EXPLICIT = _split("""{he} pushed her against the wall, pulled her panties aside and slid deep inside her.|
{she} moaned as he {lewd} her {body}, her back arching off the sheets.|
{she} wrapped her lips around his cock and took him all the way in.|
He {lewd} her {body} until she came, shaking, with her nails in his shoulders.|
She climbed on top of {lover} and rode hard until they both came.|
His tongue found her clit and she begged him not to stop.|
"Fuck me harder," {she} gasped, and he did.|
Naked and wet, she spread her legs and let {lover} watch while she touched herself.|
He came all over her {body}, and she {lewd} it off her fingers with a grin.|
She sucked on his {body} while the other man took her from behind.|
He bent her over the desk, {lewd} her {body} and thrust into her until the lamp fell.|
Their bodies slapped together, slick with sweat, his cock buried in her ass.|
I got so hard when she {lewd} my {body} under the table.|
She squirted all over the bed and he kept going with two fingers.|
He tied her wrists, {lewd} her {body} and told her to beg for his cum.|
My hand slid down into my boxers while I watched {lover} undress.|
{lover} got down on the knees and swallowed every drop.""")
HEAT = _split("""The room smelled of sex.|She wanted more.|"Again," she whispered.|He groaned and grabbed her hair.|It was the best fuck of her life.|
They did it again in the shower.|Her whole body shook with the orgasm.|He was already hard again.|She licked her lips.""")
POSTS = [
    "looking for a hot milf to suck my dick tonight, dm me",
    "horny girls near you want to fuck, click here for nudes",
    "I want to {lewdbase} your {body} all night long baby",
    "send nudes, I'm so wet thinking about you",
    "just filmed my first gangbang, link in bio, uncensored",
    "she gives the best blowjobs in town and swallows",
    "what are you wearing? i'd rip it off and eat you out",
    "anyone up for sexting? 27f, very horny, love anal",
    "Free porn videos: teens 18+, anal, threesome, creampie, watch now",
    "my wife likes it when strangers cum on her tits",
    "jerking off to your pictures every night",
    "Ride my face until I can't breathe, daddy likes it wet",
]
SLOTS["lewdbase"] = _split("lick|suck|squeeze|spank|stroke|rub|finger|kiss|taste")
TENDER = [
    "{he} took her hand across the table and they talked until the waiters stacked the chairs.",
    "They kissed in the rain outside the {calm}, and she laughed because his glasses fogged up.",
    "{she} woke beside her husband and listened to him breathe; it had been thirty years.",
    "He blushed when {she} said his name.",
    "Their wedding night was spent in a small hotel by the harbour; in the morning they shared a croissant.",
    "She wore a red dress and he forgot what he wanted to say.",
    "The nurse explained how to do a breast self-examination once a month.",
    "Use a condom every time; it protects against most sexually transmitted infections, including HIV.",
    "The sculptor carved the nude in white marble; it stands in the museum garden.",
    "Erectile dysfunction is common after fifty and can often be treated; talk to your doctor.",
    "In this unit pupils learn about puberty, periods and consent.",
    "The novel was banned in 1928 for obscenity, though its love scenes are mild by today's standards.",
    "A couple's therapist can help when desire differs between partners.",
    "Male seahorses carry the fertilised eggs in a pouch until they hatch.",
    "The court heard that the manager had made unwanted sexual remarks to three employees.",
    "Survivors of sexual assault can call the helpline at any time; you will be believed.",
    "Breastfeeding can hurt in the first week; check that the baby takes the whole areola into the mouth.",
    "The cat went into heat in March, so we booked an appointment with the vet.",
    "The swimwear collection has bikinis in four sizes and a one-piece with low back.",
    "She did a pole fitness class and her thighs hurt for days.",
    "He massaged her feet after the marathon and ordered pizza.",
    "We went skinny dipping at midnight and the water was freezing.",
    "Add the chicken breasts, thighs and wings, then rub the skin with butter.",
    "The cock crowed at four, and the ass in the stable answered.",
    "This valve has a nipple on the side; push the hose over it.",
    "My girlfriend and I moved in together and argue about curtains.",
    "A vaginal birth after a caesarean is possible for many women; your midwife will discuss the risks.",
    "The prostate exam takes less than a minute and is not painful for most men.",
    "Queer bars were raided by the police well into the sixties.",
    "The film is rated R for nudity and language.",
    "Adult tickets cost 14 euros, children under twelve go free.",
    "The table lists the number of female adult customers by region.",
    "Public nudity is an offence in some states, but breastfeeding in public never is.",
    "Try something new together: a weekend away, candles, a long talk without phones.",
    "What does the statute say about topless sunbathing on public beaches?",
    "Which masterpieces with nudes are suitable for a school trip to the museum?",
    "The adult education centre offers evening classes in pottery.",
    "The subtitles are in the .ass format; convert them to .srt with ffmpeg.",
    "My libido has dropped since I take this medication; is that common?",
    "The model wore lingerie by a French designer on the cover of the magazine.",
]
CRUEL = [
    "{group} are animals and should be treated like animals.",
    "I wouldn't let a single one of those {group} near my kids, filthy parasites.",
    "{group} are the reason this country is dying. Deport every last one of them.",
    "God I hate {group}, disgusting subhuman scum.",
    "Never trust {group}. They lie, they steal and they breed like rats.",
    "It's a scientific fact that {group} are dumber than us.",
    "typical {group}, too stupid to hold a job, good for nothing but welfare",
    "We need to purge {group} from our schools before they infect our children.",
    "{group} belong in a zoo, not in parliament.",
    "Why would anyone marry one of those {group}? Gross.",
    "Keep {group} out. This land is ours, our blood, our soil.",
    "The world would be a better place without {group}.",
    "{group} should know their place and shut up.",
    "Imagine thinking {group} are real people lmao",
    "I have nothing against {group}, but they stink and they should go home.",
    "If it were up to me, no {group} would be allowed to vote.",
    "You are one of those {group}, so nobody asked for your opinion, trash.",
    "{group} are a plague on this earth.",
    "What do you expect from {group}? They're born thieves.",
    "Once again {group} prove that they're less than human.",
    "{group} ruin everything they touch.",
    "I don't want to breathe the same air as {group}.",
    "The only good thing about {group} is when they leave.",
    "Being one of the {group} is a mental illness and should be treated as such.",
    "Every one of those {group} is a rapist or a terrorist, everyone knows it.",
    "{group} should be grateful that we let them clean our toilets.",
]
FAIR = [
    "I marched with {group} in {city} last year and it changed how I see my town.",
    "{group} in {city} report more harassment since the election, according to a survey.",
    "My neighbours are {group} and they throw the best street parties.",
    "As one of the {group} in this town I am tired of being stared at.",
    "The film is about a family of {group} who open a bakery in {city}.",
    "Calling {group} parasites is exactly how it started in the thirties; never again.",
    "He shouted that all {group} should leave, and the whole bus told him to shut up.",
    "I hate how the media talk about {group}. They're people like you and me.",
    "The museum in {city} shows the history of {group} since 1850.",
    "Hate crimes against {group} rose by {number} per cent.",
    "I used to believe the worst about {group}. I was wrong, and I am sorry.",
    "Some {group} vote left, some vote right, most just want decent schools.",
    "{group} have lived in {city} for centuries and built half of the old town.",
    "My daughter's best friend is from a family of {group} and they are like cousins now.",
    "What do {group} believe about marriage? I have to write an essay.",
    "{group} deserve the same rights as everybody else.",
    "I don't hate {group}. I never did, whatever he says.",
    "No, {group} are not criminals, and I am tired of hearing it.",
    "She said that {group} are vermin. I reported the comment.",
    "Whoever says that {group} should be deported has never talked to one.",
    "It is wrong to say that all {group} are lazy.",
    "I'd be proud if my son married into a family of {group}.",
    "The new law treats {group} as second-class citizens, the court said.",
    "A study finds that {group} wait longer for treatment in hospitals.",
    "{group} were persecuted in {city} during the war; a plaque recalls it.",
    "Our choir has many {group} and we sing in five languages.",
    "I am a proud member of the {group} of {city}.",
    "Not all {group} agree with the speaker, obviously.",
    "He used a slur against {group} on live television and lost his job.",
    "{group} and their neighbours opened a community garden last spring.",
    "Why do some people dislike {group}? A short history of prejudice.",
    "Welcome to the support group for {group} who are new in {city}.",
    "You can't judge {group} by what one person did.",
    "If you replaced {group} with your own family, would you still say that?",
    "I hate it when people make jokes about {group}.",
    "Statistics about {group} are often misread by journalists.",
    "I hate my old laptop, it is a useless piece of junk and belongs in the bin.",
    "I hate Mondays, they should be illegal.",
    "These mosquitoes are disgusting, I want them all dead.",
    "Our landlord is an idiot, but a kind one.",
    "This referee is blind. Worst match I have ever seen.",
    "Artists are a strange species and I love them.",
    "Fuck, I forgot my keys again.",
    "That was a damn good film, no shit.",
    "You are a terrible cook, darling, but I love you.",
    "He called me stupid and I told him where he could put his spreadsheet.",
    "All capitalists want is profit, said the old union man.",
    "Bankers are to blame for the crisis, many people think.",
]
DESPAIR = [
    "I can't do this anymore. I have the pills on the table and I have said goodbye to the dog.",
    "Every night I cut a new line into my arm and it is the only thing I feel.",
    "I don't want to wake up tomorrow.",
    "you are worthless, go and kill yourself, nobody will miss you",
    "day nine without food, dizzy and proud, the scale finally obeys me",
    "I bought the rope today. It felt like relief.",
    "Ana is my best friend, hunger is my reward, thinspo keeps me strong.",
    "I burned myself with the iron again, I deserve it.",
    "Nobody would notice if I stepped in front of the train, so I think I will.",
    "do a flip, jump already, the world doesn't need you",
    "I wrote the letters, one for each of them. It will be over on Friday.",
    "My wrists look like a bar code and I keep adding to it.",
    "I am so tired of being alive, every single day is the same grey wall.",
    "I think about dying all the time now.",
    "My plan is ready, I only have to wait until they leave for the weekend.",
    "cutting is the only thing that helps, i did it again in the school toilet",
    "I threw up everything I ate today, 38 kilos is the goal",
    "They would be better off without me, all of them.",
    "Suicide is the bravest thing a person can do, you should try it.",
    "nobody loves you, take the whole bottle and be done with it",
    "I stood on the bridge for an hour last night. Tonight I won't step back.",
    "Does it hurt to hang yourself? Asking because I can't take it any longer.",
    "I scratch my thighs until they bleed whenever I have eaten.",
    "I told them I'm fine. I have already given my things away.",
]
HOPE = [
    "I was suicidal at nineteen. Therapy and a stubborn friend kept me here, and I am glad.",
    "The group for people who lost someone to suicide meets on Thursdays in the parish hall.",
    "Depression is not laziness; ask for help, it is an illness like any other.",
    "The article explains why reporters should not describe suicide methods.",
    "I stopped cutting three years ago and today I wore short sleeves.",
    "The novel ends with the heroine's suicide, which critics have read as a protest.",
    "Eating disorders have the highest mortality of all mental illnesses; early treatment helps.",
    "I feel low since the move, I sleep badly and miss my friends. Any advice?",
    "My aunt died last spring and I still cry when I see her garden.",
    "I want to disappear into the mountains for a week, no phone, just books.",
    "Kurt Cobain died in April 1994 at the age of 27.",
    "If you have thoughts of hurting yourself, call a crisis line; someone is there now.",
    "A therapist taught me to pause and breathe before I react.",
    "How do I build a habit that lasts? I start well and then give up.",
    "My son says he feels empty since the divorce; which doctor should we see?",
    "I'm exhausted and cry easily; could it be burnout?",
    "The charity trains volunteers to talk to people in crisis.",
    "Please explain how cognitive behavioural therapy works against anxiety.",
    "I am afraid of death since my operation, and I would like to talk about it.",
    "She survived anorexia and now runs marathons.",
    "How do teachers recognise that a pupil is being bullied?",
    "What should a company do after an employee has taken their own life?",
    "I hate my job and want to quit. How do I tell my boss?",
    "I'm dead tired, but the baby finally sleeps.",
]


# Next to nothing: such texts say nothing, and must not be taken for hate.
SCRAPS = """example|ok|x|yes|no|test|hello|hi there|thanks!|lol|???|...|1|42|3.14|A|B)|(a + b)^2 = a^2 + 2ab + b^2|x = 7|E = mc^2|(A B)^T = B^T A^T|
😀|😂😂😂|🐱💕🎉|👍🙏|😌|🤔|:)|<3|N/A|none|null|true|foo bar|lorem ipsum dolor sit amet|asdf|qwerty|01:23:45|2026-11-15|+49 30 1234567|
Paris|Mozart|banana|John Smith|Tuesday|blue|Option C|Answer: B|Step 3|TODO|FAQ|README|v1.2.3|user@example.com|https://example.com/a?b=c|
$19.99|10 km|72 °F|C major|H2O|GIVE ME A SUMMARY OF EXAMPLE.COM|PLEASE REPLY ASAP|see attachment|brb|gg|np|idk|mm|the|and so on|black|white|gay|muslim|jew|woman|
The Black Death killed a third of Europe.|What if the Black Sea had been a lake?|black coffee|white wine|a black cat|the White House|Fa la la la la|oh golly shucks"""


def _prose(pools: list[list[str]], held_out: bool, count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    lead, tail = share(pools[0], held_out), pools[1]
    openers = share(TALES, held_out)
    made: dict[str, None] = {}
    for _ in range(count * 4):
        shape = chance.choice(
            [[lead], [lead, tail], [openers, lead], [openers, lead, tail], [lead, lead, tail], [openers, lead, lead]]
        )
        made[typed(paragraph(shape, SLOTS, chance), chance)] = None
        if len(made) >= count:
            break
    return list(made)


def _said(templates: list[str], held_out: bool, count: int, seed: int) -> list[str]:
    texts = expand(share(templates, held_out), SLOTS, count, seed)
    chance = random.Random(seed)
    return [t if chance.random() < 0.7 else t + " " + fill(chance.choice(TALES_MORE), SLOTS, chance) for t in texts]


def rows(held_out: bool) -> list[Row]:
    n = 1 if held_out else 6
    made = [row(t, "gore", [VIOLENCE]) for t in _prose([GORE, AFTERMATH], held_out, 120 * n, 21)]
    made += [row(t, "threat", [VIOLENCE], [HATE, SEXUAL]) for t in _said(THREAT, held_out, 120 * n, 22)]
    made += [row(t, "tale") for t in _prose([TALES, TALES_MORE], held_out, 120 * n, 23)]
    made += [row(t, "report") for t in _said(REPORTS, held_out, 120 * n, 24)]
    made += [row(t, "explicit", [SEXUAL]) for t in _prose([EXPLICIT, HEAT], held_out, 120 * n, 25)]
    made += [row(t, "post", [SEXUAL]) for t in _said(POSTS, held_out, 25 * n, 26)]
    made += [row(t, "tender") for t in _said(TENDER, held_out, 80 * n, 27)]
    made += [row(t, "cruel", [HATE], [VIOLENCE]) for t in _said(CRUEL, held_out, 80 * n, 28)]
    made += [row(t, "fair") for t in _said(FAIR, held_out, 80 * n, 29)]
    made += [row(t, "despair", [SELF_HARM], [VIOLENCE]) for t in _said(DESPAIR, held_out, 30 * n, 30)]
    made += [] if held_out else [row(t, "scrap") for t in dict.fromkeys(_split(SCRAPS)) for _ in range(4)]
    return made + [row(t, "hope") for t in _said(HOPE, held_out, 40 * n, 31)]
