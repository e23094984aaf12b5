"""The control plane: health and metrics, with an address and a process of its own (docs/control.md)."""
