"""Credentials that expire: fetched in a process of their own, handed to the workers through a private directory."""
