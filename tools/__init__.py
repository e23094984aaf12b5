"""Setting up a checkout: no package of Antiphon, standard library only."""
