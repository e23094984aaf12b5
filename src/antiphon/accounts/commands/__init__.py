"""`antiphon key`, `antiphon usage` and `antiphon reconcile`: over the store alone; no gateway need run."""
