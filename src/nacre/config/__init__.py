"""Settings: what there is to set, and what is in force here."""

from __future__ import annotations

from nacre.config.loading import known_settings, load, parse_value, user_config_file
from nacre.config.settings import Config

__all__ = ["Config", "known_settings", "load", "parse_value", "user_config_file"]
