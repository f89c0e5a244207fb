"""What a stranger to the code can send to `/api/`: schemathesis, by the document that the page itself gives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.mcp.conftest import Serve

pytestmark = pytest.mark.browser


def test_whatever_is_sent_the_page_answers_without_an_error_of_its_own(root: Path, serve: Serve) -> None:
    served = serve()
    command = [sys.executable, "-m", "schemathesis.cli", "run", served.url.replace("/mcp", "/api/openapi.json")]
    command += ["--header", f"Authorization: Bearer {served.token}", "--max-examples", "50", "--seed", "1"]
    command += [
        "--checks",
        "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
    ]
    done = subprocess.run(command, cwd=root.parent, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
