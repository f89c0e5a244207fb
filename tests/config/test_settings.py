"""One key of a settings file is set, and every other byte stays."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from nacre.config.settings import changed, set_key
from nacre.errors import BadSetting


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        ("", "language", "zh", 'language = "zh"\n'),
        ('timezone = "UTC"', "search.max_results", 4, 'timezone = "UTC"\n[search]\nmax_results = 4\n'),
        ("# mine\n[search]\nmax_results = 1  # few\n", "search.max_results", 4, "# mine\n[search]\nmax_results = 4  # few\n"),
        ("[search]\r\nmax_results = 1\r\n", "search.decay", "off", '[search]\r\nmax_results = 1\r\ndecay = "off"\r\n'),
        ("[search]\nmax_results = 1\ndecay = 'off'\n", "search.max_results", None, "[search]\ndecay = 'off'\n"),
        ("language = 'en'\n", "search.max_results", None, "language = 'en'\n"),
        ("", "agents", {"work": "~/w"}, 'agents = {work = "~/w"}\n'),
        ("", "index.extra_paths", [{"path": "~/n"}], '[index]\nextra_paths = [{path = "~/n"}]\n'),
        ("", "sources.codex.exclude", ["a", "b"], '[sources.codex]\nexclude = ["a", "b"]\n'),
    ],
)  # fmt: skip
def test_a_key_is_set_replaced_or_taken_out(tmp_path: Path, before: str, key: str, value: Any, after: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(before.encode())
    set_key(path, key, value)
    assert path.read_bytes().decode() == after
    tomllib.loads(after)


@pytest.mark.parametrize("data", [b"search = 3\n", b"[search\n", b"\xff\xfe", b"search = 'text'\n"])
def test_a_file_that_cannot_be_changed_safely_is_left_to_the_user(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(data)
    with pytest.raises(BadSetting, match="by hand"):
        changed(path, "search.max_results", 4)
    assert path.read_bytes() == data
