"""The life of a turn, and the ports it needs. Knows asyncio and the pure rooms; no driver, no HTTP type, no vendor."""
