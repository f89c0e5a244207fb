"""Settings: which layer wins, what a workspace may set, and what is refused."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.config.settings import Config, checked, known_settings, load, parse_value, user_config_file
from nacre.errors import BadSetting


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "ws" / ".nacre").mkdir(parents=True)
    return tmp_path


def loaded(place: Path, *, user: str = "", workspace: str = "", **env: str) -> Config:
    (place / "user.toml").write_text(user, encoding="utf-8")
    (place / "ws" / ".nacre" / "config.toml").write_text(workspace, encoding="utf-8")
    return load(place / "ws", env={"NACRE_CONFIG_FILE": str(place / "user.toml"), **env})


def test_without_any_file_the_defaults_hold(tmp_path: Path) -> None:
    config = load(tmp_path, env={"NACRE_CONFIG_FILE": str(tmp_path / "none.toml")})
    assert dataclasses.asdict(config) == dataclasses.asdict(Config())
    assert config.problems == ()
    assert (config.memory.max_lines, config.memory.max_bytes, config.index.chunk_tokens) == (80, 5120, 400)


def test_each_layer_wins_over_the_one_before_and_is_named_as_the_origin(place: Path) -> None:
    layers: dict[str, Any] = {
        "user": "[search]\nmax_results = 1",
        "workspace": "[search]\nmax_results = 2",
        "NACRE_SEARCH_MAX_RESULTS": "3",
    }
    given_so_far: dict[str, Any] = {}
    for number, (name, origin) in enumerate(zip(layers, ("user", "workspace", "environment"), strict=True), start=1):
        given_so_far[name] = layers[name]
        config = loaded(place, **given_so_far)
        assert config.search.max_results == number
        assert config.origins == {"search.max_results": origin}


def test_a_workspace_s_own_file_sets_only_what_is_harmless(place: Path) -> None:
    every = known_settings()
    for key, known in every.items():
        number = "77" if known.most is None else f"{min(77, known.most):g}"
        items = '[{path = "docs"}]' if "dict" in str(known.kind) else '["docs"]'
        items = "[1, 2, 3]" if "list[int]" in str(known.kind) else items
        value = {int: number, float: "0.5", bool: "true", list: items, dict: '{a = "b"}'}.get(
            type(known.default), '"x"'
        )
        if key == "timezone":
            value = '"Asia/Shanghai"'
        elif known.choices:
            value = f'["{known.choices[-1]}"]' if known.default == [] else f'"{known.choices[-1]}"'
        elif isinstance(known.default, str) and known.default.rstrip("smindhw").isdigit():
            value = '"90min"'
        elif known.default is None:
            value = "0.5" if "float" in str(known.kind) else '"x"'
        table, _, name = key.rpartition(".")
        text = f"[{table}]\n{name} = {value}" if table else f"{name} = {value}"
        config = loaded(place, workspace=text)
        assert (key in config.origins) == known.shared, key
        assert [problem.kind for problem in config.problems] == ([] if known.shared else ["setting not allowed here"])
        assert key in loaded(place, user=text).origins
    harmful = (
        "embed.base_url",
        "embed.provider",
        "embed.key_file",
        "memory.max_lines",
        "tiers.path",
        "workspace",
        "agents",
    )
    assert not any(every[key].shared for key in harmful)


def test_unknown_keys_are_problems_with_their_file_not_errors(place: Path) -> None:
    config = loaded(place, user="colour = 'red'\n[search]\nspeed = 3\n[nowhere.deep]\nx = 1", workspace="index = 5")
    assert [problem.kind for problem in config.problems] == ["unknown setting"] * 4
    assert {Path(problem.path or "").name for problem in config.problems} == {"user.toml", "config.toml"}
    assert any("nowhere.deep.x" in problem.message for problem in config.problems)


@pytest.mark.parametrize(
    ("variable", "raw", "value"),
    [
        ("NACRE_TIMEZONE", "Asia/Shanghai", "Asia/Shanghai"),
        ("NACRE_LANGUAGE", "zh", "zh"),
        ("NACRE_INDEX_CHUNK_TOKENS", "123", 123),
        ("NACRE_SEARCH_MIN_SCORE", "0", 0.0),
        ("NACRE_SEARCH_HALF_LIFE_DAYS", "7", 7.0),
        ("NACRE_HISTORY_ENABLED", "false", False),
        ("NACRE_HISTORY_ENABLED", "0", False),
        ("NACRE_HISTORY_ENABLED", "Yes", True),
        ("NACRE_TIERS_PATH", "12", "12"),
        ("NACRE_EMBED_KEY_FILE", "~/key", "~/key"),
        (
            "NACRE_INDEX_EXTRA_PATHS",
            '[{path = "~/notes", pattern = "*.txt"}]',
            [{"path": "~/notes", "pattern": "*.txt"}],
        ),
        ("NACRE_INDEX_EXTRA_PATHS", '["~/notes"]', [{"path": "~/notes"}]),
        ("NACRE_AGENTS", '{anna = "~/a"}', {"anna": "~/a"}),
    ],
)
def test_every_key_can_be_set_in_the_environment(place: Path, variable: str, raw: str, value: object) -> None:
    (known,) = [one for one in known_settings().values() if one.variable == variable]
    environment: dict[str, Any] = {variable: raw}
    config = loaded(place, **environment)
    held: Any = config
    for part in known.key.split("."):
        held = getattr(held, part)
    assert held == value
    assert config.origins == {known.key: "environment"}


def test_an_empty_variable_is_no_setting(place: Path) -> None:
    assert loaded(place, NACRE_INDEX_CHUNK_TOKENS="", NACRE_TIMEZONE="").origins == {}


@pytest.mark.parametrize(
    "text",
    [
        "[index]\nchunk_tokens = 'many'",
        "[index]\nchunk_tokens = 1.5",
        "[index]\nchunk_tokens = true",
        "[index]\nchunk_tokens = 0",
        "[index]\nchunk_tokens = -400",
        "[index]\nchunk_overlap = -1",
        "[index]\nextra_paths = '~/notes'",
        "[index]\nextra_paths = [5]",
        "[index]\nextra_paths = [{path = 5}]",
        "[search]\nhalf_life_days = nan",
        "[search]\nhalf_life_days = inf",
        "[search]\nmin_score = -0.1",
        "[search]\ndecay = 'never'",
        "language = 'fr'",
        "timezone = 8",
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_by_name(place: Path, text: str) -> None:
    with pytest.raises(BadSetting, match=r"cannot be .*it must be"):
        loaded(place, user=text)


@pytest.mark.parametrize("text", ["[embed]\nbatch = 0", "agents = {a = 5}", "[history]\nenabled = 1"])
def test_a_wrong_value_in_the_user_s_own_file_is_refused_too(place: Path, text: str) -> None:
    with pytest.raises(BadSetting):
        loaded(place, user=text)


@pytest.mark.parametrize("data", [b"not toml at all", b"[index\n", b"\xff\xfe", b"a = 1\na = 2"])
def test_a_file_that_is_not_toml_is_an_error_with_its_name(place: Path, data: bytes) -> None:
    (place / "ws" / ".nacre" / "config.toml").write_bytes(data)
    with pytest.raises(BadSetting, match=r"config\.toml"):
        load(place / "ws", env={"NACRE_CONFIG_FILE": str(place / "none.toml")})


def test_a_settings_file_that_cannot_be_read_is_an_error_with_its_name(place: Path) -> None:
    with pytest.raises(BadSetting, match="could not be read"):
        load(env={"NACRE_CONFIG_FILE": str(place)})


@given(st.sampled_from(sorted(known_settings())), st.text(max_size=30))
def test_any_text_for_any_key_is_a_value_or_a_sentence(key: str, raw: str) -> None:
    with contextlib.suppress(BadSetting):
        checked(known_settings()[key], parse_value(key, raw), "flag")


def test_a_key_that_does_not_exist_cannot_be_set() -> None:
    with pytest.raises(BadSetting, match="is not a setting"):
        parse_value("search.colour", "red")


def test_every_setting_says_what_it_means_and_has_a_default_of_its_kind() -> None:
    for known in known_settings().values():
        assert known.meaning
        assert known.default is None or checked(known, known.default, "default") == known.default


def test_settings_made_twice_share_nothing() -> None:
    Config().index.extra_paths.append({"path": "x"})
    assert Config().index.extra_paths == []


def test_the_user_s_file_can_be_moved(tmp_path: Path) -> None:
    assert user_config_file({"NACRE_CONFIG_FILE": str(tmp_path / "x.toml")}) == tmp_path / "x.toml"
    assert user_config_file({}).name == "config.toml"


def test_a_length_of_time_is_checked_and_its_setting_named() -> None:
    for key in ("tiers.hot", "tiers.delete_after", "sync.lookback", "cache.max_age"):
        assert parse_value(key, "90min") == "90min"
        for wrong in ("3 weeks", "0", "soon", "-3h"):
            with pytest.raises(BadSetting, match=key):
                parse_value(key, wrong)
