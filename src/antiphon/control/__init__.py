"""The control plane: health, metrics and admin API, with an address and a process of its own (docs/control.md)."""
