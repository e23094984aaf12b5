"""What workers count: the file is made by the supervisor, named by the settings."""

from __future__ import annotations

from antiphon.metrics.table import add_names, create, names_path, table_path
from antiphon.settings import Settings


def prepare_metrics(room: str, settings: Settings, workers: int) -> None:
    """Before any worker starts."""
    create(table_path(room), workers)
    name_metrics(room, settings)


def name_metrics(room: str, settings: Settings) -> None:
    """Names of new settings are added; those of the old ones stay."""
    routes = [route.model for route in settings.routes]
    add_names(names_path(room), routes, [upstream.name for upstream in settings.upstreams])
