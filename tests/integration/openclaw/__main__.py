"""Installs the plugin into a real OpenClaw and talks to it: `python -m tests.integration.openclaw [FOLDER]`.

FOLDER holds `node_modules` with openclaw and node@24; without one they are fetched from npm into the user's cache (700 MB, once).
Everything else lies in a scratch folder: home, state, settings, workspace. The model is a stub on loopback. What OpenClaw prints
is shown. Every process that was started is ended by its own number.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from tests.integration.openclaw.claw import VERSION, Claw
from tests.integration.openclaw.stub import stub
from tests.integration.openclaw.talk import install, talk


def main(arguments: list[str]) -> int:
    packages = Path(arguments[0]).absolute() if arguments else fetched()
    nacre = os.path.join(sysconfig.get_path("scripts"), "nacre")
    home = Path(tempfile.mkdtemp(prefix="nacre-claw-"))
    home.chmod(0o700)
    try:
        with stub() as model:
            claw = Claw(packages, home, nacre, model.url)
            claw.set_up()
            install(claw)
            try:
                with claw.gateway():
                    talk(claw, model)
            finally:
                print("== what the gateway logged\n" + claw.log())
                claw.nacre_run("serve", "--stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)
    print("== all of it held")
    return 0


def fetched() -> Path:
    """The packages from npm. OpenClaw refuses to be installed by another Node than it runs on, so that one comes first."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nacre" / f"openclaw-{VERSION}"
    cache.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([str(cache / "node_modules/node/bin"), os.environ["PATH"]])
    for package in ("node@24", f"openclaw@{VERSION}"):
        if not (cache / "node_modules" / package.partition("@")[0] / "package.json").exists():
            subprocess.run(
                ["npm", "install", "--no-audit", "--no-fund", package],
                cwd=cache,
                env={**os.environ, "PATH": path},
                check=True,
            )
    return cache


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
