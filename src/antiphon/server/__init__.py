"""The front door of the data plane: paths, admission, chat, models. Renders every answer and every error."""
