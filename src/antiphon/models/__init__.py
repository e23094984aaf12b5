"""What is known of models: prices, limits, what they take. One generated file (`tools/model_table.py`), read when it is
first needed, and what the settings say over it."""
