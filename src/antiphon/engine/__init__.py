"""The embedded model: a host process that speaks the OpenAI protocol, and the native engine that it watches."""
