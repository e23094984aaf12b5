"""`antiphon key` and `antiphon usage`: over the store alone; no gateway need run."""
