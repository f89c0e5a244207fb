"""nacre eval: a small scenario replayed with this machine and with a program that answers orders, measured side by side."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nacre.evaluate.measures import NAMES

SCENARIO = Path(__file__).parents[1] / "scenario"

# Gives back what the owner states, word for word; one number it makes up. Keeps count of what it was asked.
PROGRAM = r"""
import json, pathlib, re, sys
order = sys.stdin.read()
with pathlib.Path(__file__).with_name("asked").open("a") as file:
    file.write("x")
work = order.split("\n")[0].split()[-1]
data = re.search(r"<data (\w+)>\n(.*)\n</data \1>", order, re.DOTALL)[2]
items = re.findall(r"^([a-z])(\d+) (owner|agent)[^:]*: (.*[^?])$", data, re.MULTILINE)
own = [(letter + number, text.rstrip(".")) for letter, number, speaker, text in items if speaker == "owner"]

def claim(name, text, **more):
    return {"text": text, "speaker": "owner", "cites": [name], **more}

def change(name, text):
    lines = [line for line in own if line[0][0] == "k" and len(words(line[1]) & words(text)) > 4]
    if not lines:
        about = {"targets": [], "relation": "none", "verdict": "keep", "text": text}
    elif words(lines[0][1]) <= words(text) | {"now"}:
        about = {"targets": [lines[0][0]], "relation": "same", "verdict": "drop", "text": ""}
    else:
        about = {"targets": [lines[0][0]], "relation": "replaces", "verdict": "update", "text": text}
    return {"entry": name, "type": "PROJ", "scope": "everywhere", **about}

def words(text):
    return set(re.findall(r"\w+", text.lower()))

if work == "extract":
    wrong = [(name, text.replace("5440", "5441")) for name, text in own if "5440" in text]
    answer = {"entries": [claim(*said, type="-") for said in own + wrong]}
elif work == "digest":
    answer = {"lines": [claim(*said, category="decision") for said in own[:2]]}
else:
    answer = {"changes": [change(*said) for said in own if said[0][0] == "e"]}
print(json.dumps(answer))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program" / "program.py"
    path.parent.mkdir()
    path.write_text(PROGRAM, "utf8")
    return path


def run(*arguments: str | Path, code: Any = 0, **env: str) -> str:
    """What is printed, without the embedding models, which not every machine has."""
    environment = {**os.environ, "NACRE_MODELS_PATH": os.path.join(os.environ["HOME"], "none"), **env}
    command = [sys.executable, "-m", "nacre", "eval", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout if "--json" in arguments else done.stdout + done.stderr


def scenario_with(tmp_path: Path, **labels: Any) -> Path:
    """The scenario with other labels."""
    folder = shutil.copytree(SCENARIO, tmp_path / "scenario")
    gold = json.loads((folder / "gold.json").read_text("utf8"))
    (folder / "gold.json").write_text(json.dumps(gold | labels), "utf8")
    return folder


def own(program: Path) -> dict[str, str]:
    return {"NACRE_BRAIN_EXTRACT": "command", "NACRE_BRAIN_COMMAND_ARGV": json.dumps([sys.executable, str(program)])}


def test_a_program_is_measured_beside_this_machine(tmp_path: Path, program: Path) -> None:
    first = json.loads(run(SCENARIO, "--yes", "--json", "--keep", tmp_path / "kept", **own(program)))
    assert list(first) == ["local", "command"]
    for result in first.values():
        assert list(result["measures"]) == list(NAMES)
        for name in ("sessions captured", "others left out", "secrets in no file"):
            assert result["measures"][name]["missed"] == []
    missed = [result["measures"]["points covered"]["missed"] for result in first.values()]
    assert missed == [[], ["a1c0ffee/b1"]]  # the program leaves out what ends as a question
    assert first["local"]["cost"]["orders"] == 0
    cost = first["command"]["cost"]
    assert cost["orders"] == len(program.with_name("asked").read_text())
    assert (cost["dropped"]["number"], cost["failed"], cost["fallbacks"]) == (1, 0, 0)
    assert cost["tokens"] > 500 * cost["orders"]
    assert list(Path(os.environ["HOME"]).iterdir()) == []
    assert (tmp_path / "kept" / "local" / "workspace" / "MEMORY.md").exists()
    assert "already exists" in run(SCENARIO, "--keep", tmp_path / "kept", code=2)


def test_a_table_for_people_names_what_was_missed_and_why_the_model_failed(tmp_path: Path, program: Path) -> None:
    program.write_text("import sys; sys.exit('no credits left')", "utf8")
    folder = scenario_with(tmp_path, durable=[{"id": "unsaid", "must_match": ["what nobody said"]}])
    given = (folder, "--yes", "--misses", "--brain", "command")
    printed = run(*given, NACRE_LANGUAGE="zh", **own(program)).splitlines()
    rows = dict(line.split("\t") for line in printed if "\t" in line)
    assert rows["长期事实已保留"] == "0/1 (0%)"
    assert rows["已采集的会话"] == "3/3 (100%)"
    assert rows["请求"] == rows["改由本机完成的请求"]
    assert "长期事实已保留（command）：unsaid" in printed
    assert any(f"{rows['请求']} 个请求失败" in line and "no credits left" in line for line in printed)


def test_a_model_is_asked_nothing_before_its_user_was(program: Path) -> None:
    assert "About 12 requests" in run(SCENARIO, "--dry-run", **own(program))
    assert "confirmation needs a terminal" in run(SCENARIO, code=2, **own(program))
    assert not program.with_name("asked").exists()
    assert "No program is configured" in run(SCENARIO, "--brain", "command", code=2)
    assert "use one of local" in run(SCENARIO, "--brain", "nobody", code=2)


def test_pairs_alone_are_compared(tmp_path: Path) -> None:
    shutil.copy(SCENARIO / "relations.jsonl", tmp_path / "pairs.jsonl")
    (result,) = json.loads(run(tmp_path / "pairs.jsonl", "--json")).values()
    assert list(result["measures"]) == list(NAMES)[-4:]
    assert result["measures"]["relations destroyed wrongly"]["right"] == 0


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ({"last_day": "soon"}, "/last_day: 'soon' is not a 'date'"),
        ({"durable": [{"id": "d1", "must_match": ["(pnpm"]}]}, "/durable/0/must_match/0: '(pnpm' is not a 'regex'"),
        ({"queries": [{"id": "q1", "q": "who?", "kind": "exact"}]}, "'answer_match' is a required property"),
        ({"timezone": "Nowhere/None"}, 'Unknown time zone "Nowhere/None"'),
    ],
)
def test_labels_that_cannot_be_used_are_told_with_their_place(
    tmp_path: Path, labels: dict[str, Any], sentence: str
) -> None:
    assert sentence in run(scenario_with(tmp_path, **labels), code=2)


def test_a_folder_without_labels_or_with_broken_ones_is_told(tmp_path: Path) -> None:
    assert "contains no gold.json" in run(tmp_path, code=2)
    (tmp_path / "gold.json").write_text("{", "utf8")
    assert "gold.json is not valid JSON" in run(tmp_path, code=2)
