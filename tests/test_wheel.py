"""The built package: every file of the source is in it, and the command works where nothing but the wheel holds our files."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import nacre

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of its own with the wheel installed; other packages are those of the tests."""
    place = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--disable-pip-version-check", str(wheel)], check=True)
    (packages,) = place.glob("lib/python*/site-packages")
    # What a folder named here holds is found, but the links in it, such as that to our sources, are not followed.
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf8")
    return python


def test_every_file_of_the_source_is_in_the_wheel(wheel: Path) -> None:
    source = ROOT / "src"
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    files = {name for name in files if "__pycache__" not in name}
    with zipfile.ZipFile(wheel) as packed:
        members = {name for name in packed.namelist() if ".dist-info/" not in name}
    assert members == files
    for name in ("guard/rules.tsv", "search/weights.json", "plugins/claude-code", "brain/prompts", "demo/sessions/zh"):
        assert any(member.startswith(f"nacre/{name}") for member in members), name


def test_the_installed_command_keeps_and_finds_a_line(python: Path, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "NACRE_MODELS_PATH": str(tmp_path / "none")}

    def run(*arguments: str) -> str:
        command = [str(python.with_name("nacre")), *arguments]
        return subprocess.run(
            command, capture_output=True, encoding="utf8", env=environment, cwd=tmp_path, check=True
        ).stdout

    where = [str(python), "-P", "-c", "import nacre; print(nacre.__file__)"]
    printed = subprocess.run(where, capture_output=True, encoding="utf8", env=environment, check=True).stdout
    assert Path(printed.strip()).is_relative_to(python.parent.parent)
    assert run("--version").strip().endswith(nacre.__version__)
    run("init")
    run("remember", "Reports are written in Typst, never in LaTeX")
    assert "Typst" in run("search", "reports")
    secret = "ghp_" + "a1B2" * 9
    assert secret not in run("extract", f"The token is {secret}, always use it for releases.")  # by rules.tsv
    assert "MEMORY.md" in run("up", "--demo", "--language", "zh")  # its sessions, and the weights of the classifiers
