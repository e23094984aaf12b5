"""The admin API under `/admin/v1` (docs/control.md)."""
