"""The benchmark against peers: see README.md. Standard library only; nothing here is part of the package."""
