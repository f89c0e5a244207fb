"""OpenClaw's memory settings as ours, in the user's file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.capture.imports.elsewhere import key, run
from tests.capture.talks import Desk

from nacre.capture import importing
from nacre.config.settings import known_settings, load, user_config_file
from nacre.errors import BadInput, NotFound

CLASSIC = """
// comments and trailing commas are fine
{
  agents: {
    defaults: {
      workspace: "~/.openclaw/workspace",
      memorySearch: {
        provider: "openai",
        remote: { baseUrl: "https://example.com/v1", apiKey: "%s" },
        extraPaths: ["../team-docs", "/srv/notes", "${DOCS}/x"],
        sources: ["memory", "sessions"],
        chunking: { tokens: 300, overlap: 40 },
        query: {
          maxResults: 6, minScore: 0.35,
          hybrid: {
            vectorWeight: 0.7, textWeight: 0.3, candidateMultiplier: 4,
            mmr: { lambda: 0.6, enabled: true },
            temporalDecay: { enabled: true, halfLifeDays: 14 },
          },
        },
      },
    },
  },
}
"""


@pytest.fixture
def settings(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DOCS", "/srv/docs")
    path = desk.home / ".openclaw" / "openclaw.json"
    path.parent.mkdir()
    path.write_text(CLASSIC % key(), "utf8")
    return path


def test_what_has_an_equal_here_is_set_for_the_user_with_its_origin(desk: Desk, settings: Path) -> None:
    report = run(desk, "openclaw")
    made = load()
    assert (made.index.chunk_tokens, made.index.chunk_overlap, made.index.sessions) == (300, 40, True)
    assert (made.search.max_results, made.search.min_score) == (6, 0.35)
    assert (made.search.vector_weight, made.search.text_weight, made.search.mmr_lambda) == (0.7, 0.3, 0.6)
    assert (made.search.decay, made.search.half_life_days) == ("multiply", 14)
    assert [one["path"] for one in made.index.extra_paths] == [
        str(desk.home / ".openclaw" / "team-docs"),
        "/srv/notes",
        "/srv/docs/x",
    ]
    told = {step.path: step.reason for step in report.steps if step.action == "set"}
    assert told["search.max_results = 6"] == (
        "agents.defaults.memorySearch.query.maxResults (~/.openclaw/openclaw.json)"
    )


def test_the_flush_and_the_wait_for_more_changes_are_taken_over(desk: Desk) -> None:
    path = desk.home / ".openclaw" / "openclaw.json"
    path.parent.mkdir()
    path.write_text(
        """{
          agents: { defaults: {
            memorySearch: { sync: { watchDebounceMs: 3000, onSearch: true } },
            compaction: {
              mode: "safeguard",
              reserveTokensFloor: 30000,
              memoryFlush: {
                enabled: false, softThresholdTokens: 6000, forceFlushTranscriptBytes: "2mb", model: "ollama/qwen3:8b",
                prompt: "Write it down.", systemPrompt: "You keep a diary.",
              },
            },
          } },
        }""",
        "utf8",
    )
    report = run(desk, "openclaw")
    made = load()
    assert made.serve.watch_debounce_ms == 3000
    assert (made.flush.enabled, made.flush.soft_threshold_tokens, made.flush.reserve_tokens) == (False, 6000, 30000)
    assert (made.flush.prompt, made.flush.system_prompt) == ("Write it down.", "You keep a diary.")
    begin = "agents.defaults.compaction."
    told = {step.path: step.reason for step in report.steps}
    assert told["flush.soft_threshold_tokens = 6000"] == (
        f"{begin}memoryFlush.softThresholdTokens (~/.openclaw/openclaw.json)"
    )
    assert "no such setting" in told[f"{begin}memoryFlush.model"]
    assert "no such setting" in told[f"{begin}memoryFlush.forceFlushTranscriptBytes"]
    assert f"{begin}mode" not in told  # how OpenClaw compacts is no setting of memory


def test_every_setting_that_has_an_equal_leads_to_one_that_exists() -> None:
    assert set(importing._EQUALS.values()) <= set(known_settings())


def test_keys_servers_and_unknown_settings_are_listed_as_not_taken_and_never_shown(desk: Desk, settings: Path) -> None:
    report = run(desk, settings)
    passed = {step.path: step.reason for step in report.steps if step.action == "skip"}
    begin = "agents.defaults.memorySearch."
    assert "no such setting" in passed[f"{begin}remote.apiKey"]
    assert "no such setting" in passed[f"{begin}provider"]
    assert "no such setting" in passed[f"{begin}query.hybrid.candidateMultiplier"]
    written = user_config_file().read_text("utf8")
    assert key() not in str(report.steps)
    assert key() not in written
    assert "example.com" not in written + str(report.steps)


def test_what_the_user_has_set_stays_and_a_second_import_changes_nothing(desk: Desk, settings: Path) -> None:
    file = user_config_file()
    file.parent.mkdir(parents=True)
    file.write_text('# mine\n[search]\nmax_results = 20\n\n[index]\nextra_paths = ["/srv/notes", "/mine"]\n', "utf8")
    run(desk, "openclaw")
    made = load()
    assert made.search.max_results == 20
    assert [one["path"] for one in made.index.extra_paths][:2] == ["/srv/notes", "/mine"]
    assert len(made.index.extra_paths) == 4
    before = file.read_bytes()
    assert b"# mine" in before
    report = run(desk, "openclaw")
    assert report.changed == 0
    assert file.read_bytes() == before


def test_a_dry_run_sets_nothing(desk: Desk, settings: Path) -> None:
    assert run(desk, "openclaw", dry_run=True).changed > 5
    assert not user_config_file().exists()


def test_the_current_place_of_the_settings_comes_before_the_classic_one(desk: Desk) -> None:
    path = desk.home / ".openclaw" / "openclaw.json"
    path.parent.mkdir()
    path.write_text(
        '{"agents": {"defaults": {"memorySearch": {"query": {"maxResults": 3}}}},'
        ' "memory": {"search": {"query": {"maxResults": 8, "hybrid": {"mmr": {"lambda": 0.2, "enabled": false}}}}}}',
        "utf8",
    )
    run(desk, "openclaw")
    made = load()
    assert made.search.max_results == 8
    assert made.search.mmr_lambda == 1  # variety switched off is relevance alone


def test_a_value_that_we_cannot_use_is_named(desk: Desk) -> None:
    path = desk.home / "openclaw.json"
    path.write_text('{"memory": {"search": {"chunking": {"tokens": "many", "overlap": 30}}}}', "utf8")
    report = run(desk, path)
    assert load().index.chunk_overlap == 30
    assert any("cannot be 'many'" in step.reason for step in report.steps)


def test_settings_that_are_missing_or_damaged_get_a_sentence(desk: Desk) -> None:
    with pytest.raises(NotFound, match="No OpenClaw settings"):
        run(desk, "openclaw")
    path = desk.home / ".openclaw" / "openclaw.json"
    path.parent.mkdir()
    path.write_text("{ memory: ", "utf8")
    with pytest.raises(BadInput, match="JSON5"):
        run(desk, "openclaw")
