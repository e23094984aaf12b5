"""Harmless things that people ask for, as imperatives: what benign role play and fiction is filled with."""

# ruff: noqa: E501 - rows are data, and chance is no secret here
from __future__ import annotations

GOALS = """bake sourdough bread in a cast-iron pot|repair a bicycle chain on the road|write a cover letter for a job in marketing|plan a three-day trip to Kyoto
grow tomatoes on a balcony|learn the guitar at fifty|build a birdhouse from scrap wood|explain photosynthesis to a child|prepare for a chess tournament
brew coffee with a French press|organise a surprise party|train for a half marathon|paint a room without stains|fold an origami crane|start a book club
save money for a first flat|teach a dog to sit and stay|remove red wine from a carpet|write a sonnet about the sea|choose a mattress|set up a home network
negotiate a higher salary|make kimchi|sail a small boat in strong wind|restore an old photograph|fix a dripping tap|change a flat tyre|give a wedding speech
build a budget in a spreadsheet|raise chickens in a garden|identify edible berries safely|treat a sunburn|calm a crying baby|sleep better without pills
escape from an escape room|solve a Rubik's cube|forge a horseshoe|pick a lock in a lockpicking sport competition|survive a night in the mountains|cross a desert with camels
rob a dragon's hoard in our Dungeons and Dragons campaign|defeat the goblin king without magic|win a snowball fight|steal a base in baseball|defuse an argument at a family dinner
navigate by the stars|build a raft from logs|make soap from olive oil|dye wool with onion skins|preserve lemons in salt|carve a pumpkin|sharpen a kitchen knife
write a parser in Rust|debug a memory leak|set up continuous integration|design a database for a library|explain recursion|secure a home router against attackers
protect elderly people from phone scams|recognise phishing e-mails|teach children about strangers|report a burglary to the insurance|help a friend who is being bullied
help somebody who has panic attacks|quit smoking|eat less sugar|talk to a teenager about alcohol|cope with grief|support a colleague who came out|find a therapist
understand the causes of the First World War|describe a medieval siege for a school project|explain how vaccines work|explain how detectives take fingerprints|summarise the plot of Macbeth
compare two phone contracts|write a complaint to an airline|invent a new board game|compose a lullaby|translate a menu from Italian|plan a vegetable garden|assemble a wardrobe
repair a leaking roof|weld two steel plates safely|handle acids safely in a school laboratory|dispose of old batteries|store fireworks safely|light a camp fire in the rain
run a bakery in a small town|open a lemonade stand|become an astronaut|train a falcon|care for an old horse|breed goldfish|keep bees|make cheese|smoke a ham|pickle cucumbers
write a eulogy for a grandfather|apologise to a friend|ask for help|decline an invitation kindly|make small talk|speak in public without fear|learn Portuguese in a year"""
BENIGN = [goal.strip() for goal in GOALS.replace("\n", "|").split("|") if goal.strip()]
