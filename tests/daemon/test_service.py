"""A daemon that is not what the client is, or not what the settings ask for, does not answer for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nacre.daemon import client
from nacre.daemon.client import Connection, NoDaemon

from .conftest import Start, answers, connected
from .waiting import until


def test_other_settings_start_it_anew(root: Path, start: Start) -> None:
    process = start()
    with connected(root) as daemon:
        asked = {"query": "key", "min_score": 0, "as_json": True}
        daemon.ask("search", asked=asked)
        (root / ".nacre" / "config.toml").write_text("[search]\nmax_results = 1\n", "utf8")
        with pytest.raises(NoDaemon):
            daemon.ask("search", asked=asked)
    until(lambda: answers(root))
    with connected(root) as daemon:
        assert daemon.ask("status")["process"] == process.pid  # the same process, begun again
        assert daemon.ask("search", asked=asked)["parts"][0][1].count('"citation"') == 1
    assert process.poll() is None


def test_a_client_of_another_version_leaves_it_alone(root: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    process = start()
    with monkeypatch.context() as other:
        other.setattr(client, "__version__", "0.0.1")
        with pytest.raises(NoDaemon):
            connected(root)
        told = client.daemon_status(str(root))
        assert told is not None
        assert told["skew"] == "another version"
    assert answers(root)
    assert process.poll() is None


def test_another_environment_does_its_own_work(root: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    for name, value in (("NACRE_LANGUAGE", "zh"), ("NACRE_SEARCH_MAX_RESULTS", "1"), ("HOME", "/nowhere")):
        with monkeypatch.context() as other:
            other.setenv(name, value)
            assert not answers(root)
    assert answers(root)


def test_a_daemon_that_openclaws_gateway_started_serves_a_shell(
    root: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Path(os.environ["NACRE_MODELS_PATH"])
    (models / "installed").mkdir(parents=True)
    with monkeypatch.context() as gateway:
        for name, value in (
            ("OPENCLAW_GATEWAY_TOKEN", "abc"),
            ("OPENCLAW_GATEWAY_PORT", "18789"),
            ("OPENCLAW_SERVICE_MARKER", "openclaw"),
            ("OPENCLAW_SHELL", "exec"),
            ("OPENCLAW_PROFILE", "default"),
            ("OPENCLAW_STATE_DIR", str(Path.home() / ".openclaw")),  # named, and where it is anyway
            ("OPENCLAW_CONFIG_PATH", str(Path.home() / ".openclaw" / "openclaw.json")),
            ("XDG_CONFIG_HOME", str(Path.home() / ".config")),
            ("ANTHROPIC_API_KEY", "abc"),
            ("OPENAI_API_KEY", "abc"),  # with local models nobody is sent anything
        ):
            gateway.setenv(name, value)
        start()
    assert answers(root)
    for name, value in (("OPENCLAW_STATE_DIR", "/elsewhere"), ("OPENCLAW_CONFIG_PATH", "/elsewhere.json")):
        with monkeypatch.context() as other:
            other.setenv(name, value)
            assert not answers(root)


def test_a_daemon_of_other_settings_can_still_be_stopped(
    root: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = start()
    monkeypatch.setenv("NACRE_LANGUAGE", "zh")
    with Connection(str(root), any_version=True) as daemon:
        with pytest.raises(NoDaemon):
            daemon.ask("search", asked={"query": "roses"})
        assert daemon.ask("stop") == {"process": process.pid}
    assert process.wait(300) == 0
    assert os.environ["NACRE_LANGUAGE"] == "zh"
