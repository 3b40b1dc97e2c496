"""Where classes are kept: what every store does, and that no file on the disk keeps a server from starting."""

import multiprocessing
import os
import signal
import socket
import sqlite3
import tempfile
from pathlib import Path

import pytest

from transformer.web.sessions import class_store as module
from transformer.web.sessions.class_store import SqliteStore, class_store

from .conftest import OpenStore


def test_what_is_written_is_read_once(open_store: OpenStore) -> None:
    one, other = open_store(), open_store()
    assert one.read({}) == {}
    assert one.write("ACDE", {"place": "?tab=lesson", "vote 0 0 Zoë 1": "1 2"}, is_new=True)
    assert one.write("KMNP", {"place": "a"}, is_new=True)
    found = other.read({})
    assert {code: fields for code, (_, fields) in found.items()} == {
        "ACDE": {"place": "?tab=lesson", "vote 0 0 Zoë 1": "1 2"},
        "KMNP": {"place": "a"},
    }
    known = {code: version for code, (version, _) in found.items()}
    assert one.write("ACDE", {"place": "b"})
    changed = other.read(known)
    assert (changed["ACDE"][1], changed["KMNP"]) == ({"place": "b"}, (known["KMNP"], {}))
    assert changed["ACDE"][0] > known["ACDE"]
    other.delete("ACDE")
    assert list(one.read(known)) == ["KMNP"]


def test_only_a_class_that_is_there_is_written_and_only_a_new_one_is_made(open_store: OpenStore) -> None:
    store = open_store()
    assert not store.write("ACDE", {"place": "a"})
    assert store.read({}) == {}
    assert store.write("ACDE", {"place": "a"}, is_new=True)
    assert not store.write("ACDE", {"place": "b"}, is_new=True)
    assert store.read({})["ACDE"][1] == {"place": "a"}
    store.delete("ACDE")
    assert store.write("ACDE", {"about": "another"}, is_new=True)
    assert store.read({})["ACDE"][1] == {"about": "another"}


def of_another_program(folder: Path) -> bytes:
    with sqlite3.connect(folder / "other") as db:
        db.execute("create table class (name text)")
    db.close()
    return (folder / "other").read_bytes()


def cut_off(folder: Path) -> bytes:
    store = SqliteStore(folder)
    store.write("ACDE", {f"vote 0 0 {n}": "1 0" for n in range(2000)}, is_new=True)
    store._db.close()
    return (folder / "classes.sqlite").read_bytes()[:20_000]


@pytest.mark.parametrize("content", [lambda _: b"", lambda _: b"no database" * 99, of_another_program, cut_off])
def test_a_broken_or_foreign_file_is_put_aside(content: object, tmp_path: Path) -> None:
    written = content(tmp_path)
    folder = tmp_path / "classes"
    folder.mkdir()
    (folder / "classes.sqlite").write_bytes(written)
    assert class_store(str(folder)).write("ACDE", {"place": "a"}, is_new=True)
    assert list(class_store(str(folder)).read({})) == ["ACDE"]
    if written:
        assert (folder / "classes.sqlite.broken").read_bytes() == written


def test_a_folder_that_cannot_be_used_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for where in (f"{tmp_path}/file", "gopher://somewhere", "redis://somewhere:port/0"):
        with pytest.raises(ValueError, match="TRANSFORMER_CLASSES='?" + where):
            class_store(where)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has a temporary directory for each user")
def test_the_temporary_folder_survives_and_is_this_users_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    class_store("").write("ACDE", {"place": "a"}, is_new=True)
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(class_store("").read({})) == ["ACDE"]
    folder.chmod(0o755)  # as another user's could be
    in_memory = class_store("")
    assert in_memory.read({}) == {}
    assert in_memory.write("ACDE", {"place": "b"}, is_new=True)


def test_a_file_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PAGES", 20)
    store = class_store(str(tmp_path))
    assert store.write("ACDE", {"place": "a"}, is_new=True)
    with pytest.raises(store.errors):
        store.write("ACDE", {"place": "x" * 10**6})
    assert store.read({})["ACDE"][1] == {"place": "a"}
    assert store.write("ACDE", {"place": "b"})


def _vote_and_die(folder: str, name: str) -> None:
    store = class_store(folder)
    store.write("ACDE", {}, is_new=True)  # one of them makes it
    for n in range(20):
        assert store.write("ACDE", {f"vote 0 0 {name}{n}": "1 0"})
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_processes_that_start_at_once_share_the_file_and_what_they_wrote_survives_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WAIT_SECONDS", 60)  # the machine may be busy with other tests
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_vote_and_die, args=(str(tmp_path), f"{n}-")) for n in range(6)]
    for each in processes:
        each.start()
    for each in processes:
        each.join()
    assert [each.exitcode for each in processes] == [-signal.SIGKILL] * 6
    (_, fields) = class_store(str(tmp_path)).read({})["ACDE"]
    assert len(fields) == 6 * 20
    assert [file.name for file in tmp_path.glob("*.broken")] == []


def test_a_redis_that_does_not_answer_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = class_store(f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        with pytest.raises(store.errors):
            store.read({})
