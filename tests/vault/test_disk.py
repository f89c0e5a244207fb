from __future__ import annotations

import os
import resource
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre import disk
from nacre.errors import CannotWrite, PathEscape


def test_mode_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"old")
    path.chmod(0o640)
    disk.write(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_owner_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"old")
    os.chown(path, 1234, 5678)
    disk.write(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 5678)


def test_a_new_file_is_made_with_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "x" / "y" / "a.md"
    disk.write(path, b"new", mode=0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_inside_is_written_through(tmp_path: Path) -> None:
    real, link = tmp_path / "real.md", tmp_path / "link.md"
    real.write_bytes(b"old")
    link.symlink_to("real.md")
    disk.write(link, b"new", root=tmp_path)
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside.md"
    root.mkdir()
    outside.write_bytes(b"theirs")
    (root / "link.md").symlink_to(outside)
    with pytest.raises(PathEscape):
        disk.write(root / "link.md", b"new", root=root)
    assert outside.read_bytes() == b"theirs"


def test_temp_files_of_dead_processes_go_and_others_stay(tmp_path: Path, in_child: Callable[..., int]) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    dead = tmp_path / f".nacre-{pid}-00ff.tmp"
    alive, users = tmp_path / ".nacre-1-00ff.tmp", tmp_path / ".nacre-notes.tmp"
    for path in (dead, alive, users):
        path.write_bytes(b"x")
    disk.write(tmp_path / "a.md", b"new")
    assert {path.name for path in tmp_path.iterdir()} == {alive.name, users.name, "a.md"}


def test_a_full_disk_leaves_the_old_bytes_and_no_temp_file(tmp_path: Path, in_child: Callable[..., int]) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"old")

    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            disk.write(path, b"n" * 5000)
        except CannotWrite as trouble:
            raise SystemExit(7 if "disk is full" in str(trouble) else 2) from None

    assert in_child(fill) == 7
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["a.md"]


@pytest.mark.skipif(os.getuid() != 0, reason="drops privileges")
@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o444, 0o777), (0o666, 0o555)])
def test_read_only_means_read_only(
    tmp_path: Path, in_child: Callable[..., int], file_mode: int, folder_mode: int
) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    path = folder / "a.md"
    path.write_bytes(b"old")
    path.chmod(file_mode)
    folder.chmod(folder_mode)
    descriptor = os.open(folder, os.O_RDONLY)

    def as_nobody() -> None:
        os.fchdir(descriptor)
        os.setgid(65534)
        os.setuid(65534)
        try:
            disk.write(Path("a.md"), b"new")
        except CannotWrite as trouble:
            raise SystemExit(7 if "read-only" in str(trouble) else 2) from None

    for parent in tmp_path.parents:
        if parent.owner() == "root" and parent != Path("/") and str(parent).startswith("/tmp/"):
            parent.chmod(0o755)
    tmp_path.chmod(0o755)
    assert in_child(as_nobody) == 7
    assert path.read_bytes() == b"old"


def test_a_folder_in_the_way_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.md").mkdir()
    with pytest.raises(CannotWrite, match=r"a\.md"):
        disk.write(tmp_path / "a.md", b"new")
