"""qmd's BM25 on the same notes, installed from npm into a scratch folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from bench.measure import cpu_of

VERSION = "2.8.3"


def measure(folder: Path, notes: Path, needles: list[dict[str, Any]]) -> dict[str, Any]:
    """Figures of qmd, or one row that says why there are none."""
    if not shutil.which("npm"):
        return {"qmd": "not measured: npm is not at hand"}
    place = folder / "qmd"
    place.mkdir()
    done = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(place), f"@tobilu/qmd@{VERSION}", "node@24"],
        capture_output=True,
        text=True,
        check=False,
    )
    program = place / "node_modules" / ".bin" / "qmd"
    if done.returncode or not program.exists():
        return {"qmd": f"not measured: npm install failed: {done.stderr.strip().splitlines()[-1:]}"}
    env = {
        **os.environ,
        "HOME": str(place),
        "XDG_CACHE_HOME": str(place / "cache"),
        "XDG_CONFIG_HOME": str(place / "config"),
        "PATH": f"{place / 'node_modules' / 'node' / 'bin'}:{os.environ['PATH']}",  # it crashes on older ones
    }
    try:
        return _figures([str(program)], env, notes, needles)
    except RuntimeError as trouble:
        return {"qmd": f"not measured: {trouble}"}


def _figures(call: list[str], env: dict[str, str], notes: Path, needles: list[dict[str, Any]]) -> dict[str, Any]:
    index, _ = cpu_of([*call, "collection", "add", str(notes), "--name", "notes"], runs=1, env=env)
    query, _ = cpu_of([*call, "search", needles[0]["kw"], "-n", "5"], env=env)
    figures: dict[str, Any] = {
        "qmd: text index": f"{index:.3f} CPU s",
        "qmd: search, fresh process": f"{query:.3f} CPU s",
    }
    for language in ("en", "zh"):
        for form in ("kw", "q"):
            asked = [n for n in needles if n["lang"] == language][:20]  # a sample: each is a process of its own
            found = sum(n["file"] in _found(call, n[form], env) for n in asked)
            kind = "keyword" if form == "kw" else "question"
            figures[f"qmd: {language} {kind} in the top 5"] = f"{found} of {len(asked)}"
    return figures


def _found(call: list[str], text: str, env: dict[str, str]) -> str:
    done = subprocess.run(
        [*call, "search", text, "-n", "5", "--json"], capture_output=True, text=True, env=env, check=False
    )
    try:
        return json.dumps(json.loads(done.stdout))
    except json.JSONDecodeError:
        return done.stdout
