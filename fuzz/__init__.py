"""Fuzzers that run against a real gateway process: mutated requests, mutated answers, and a soak."""
