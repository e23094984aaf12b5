"""Settings and accounts of other gateways, made into ours: `antiphon import`."""
