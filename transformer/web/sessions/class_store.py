"""Where classes are kept, so that they survive a restart and are the same ones on every replica.

A class is a version and named texts. Every change of it counts its version on, and writes single texts, so that votes
that come to two replicas at once do not overwrite each other. A replica reads what has changed since its version.

All methods block. They may be called in any thread, in one at a time.
"""

import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from .. import access_log

KEPT_SECONDS = 4 * 3600  # after its last change, in Redis; classes end by themselves before (see classes.py)
MAX_PAGES = 2**16  # of 4 KB; 50 classes of 300 students with 20 questions take 12,000
WAIT_SECONDS = 2  # for another process, or for Redis
FORMAT = 1

Fields = Mapping[str, str]


class SqliteStore:
    """A file in a folder, which all processes of a machine share; without a folder, classes are in memory only. Any
    change survives the end of the process, however it ends, as soon as `write` has returned; only if the machine loses
    its power, the changes of the last seconds may be lost."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)  # where the store cannot be reached, is full or broken

    def __init__(self, folder: Path | None) -> None:
        file = str(folder / "classes.sqlite") if folder else ":memory:"
        try:
            self._db = _opened(file)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:  # the file is broken, or another program's
            access_log.fault("classes", error)
            for suffix in ("-wal", "-shm"):
                Path(file + suffix).unlink(missing_ok=True)
            Path(file).replace(f"{file}.broken")
            self._db = _opened(file)

    def read(self, known: Mapping[str, int]) -> dict[str, tuple[int, Fields]]:
        """Every class by its code: its version, and the texts that have changed since a known one."""
        changed = "select name, value from field where code = ? and version > ?"
        found: dict[str, tuple[int, Fields]] = {}
        for code, version in self._db.execute("select code, version from class").fetchall():
            since = known.get(code, 0)
            found[code] = version, dict(self._db.execute(changed, (code, since))) if version > since else {}
        return found

    def write(self, code: str, fields: Fields, is_new: bool = False) -> bool:
        """Returns whether it was written: a class must be there, and a new one must not."""
        version = "update class set version = version + 1 where code = ?"
        if is_new:
            version = "insert or ignore into class values (?, 1)"
        with self._db:
            self._db.execute("begin immediate")
            if not self._db.execute(version, (code,)).rowcount:
                return False
            write = "insert or replace into field select code, ?, ?, version from class where code = ?"
            self._db.executemany(write, [(name, value, code) for name, value in fields.items()])
        return True

    def delete(self, code: str) -> None:
        with self._db:
            self._db.execute("begin immediate")
            for table in ("class", "field"):
                self._db.execute(f"delete from {table} where code = ?", (code,))


def _opened(file: str) -> sqlite3.Connection:
    """Raises sqlite3.Error."""
    db = sqlite3.connect(file, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    with db:
        db.execute("begin")  # another process may make the tables now
        found = [db.execute(f"pragma {name}").fetchone()[0] for name in ("user_version", "quick_check(1)")]
        tables = {name for (name,) in db.execute("select name from sqlite_master where type = 'table'")}
    if (*found, tables) not in ((0, "ok", set()), (FORMAT, "ok", {"class", "field"})):
        db.close()
        raise sqlite3.DatabaseError("not a file of classes")
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = normal")
    db.execute(f"pragma max_page_count = {MAX_PAGES}")
    db.executescript(f"""
        begin immediate;
        create table if not exists class (code text primary key, version integer);
        create table if not exists field (code text, name text, value text, version integer, primary key (code, name));
        create index if not exists changed on field (code, version);
        pragma user_version = {FORMAT};
        commit;
    """)
    return db


WRITE = """
if (redis.call('zscore', KEYS[1], ARGV[1]) == false) == (ARGV[2] == '') then return 0 end
local version = redis.call('zincrby', KEYS[1], 1, ARGV[1])
for i = 4, #ARGV, 2 do
    redis.call('hset', KEYS[2], ARGV[i], ARGV[i + 1])
    redis.call('zadd', KEYS[3], version, ARGV[i])
end
for i = 1, 3 do redis.call('expire', KEYS[i], ARGV[3]) end
return 1
"""  # a script is one step: nothing is read or written in between


class RedisStore:
    """A Redis that all replicas share: the versions of all classes, and of each its texts and their versions."""

    def __init__(self, address: str) -> None:
        import redis  # optional: replicas on one machine do without

        timeouts = {"socket_timeout": WAIT_SECONDS, "socket_connect_timeout": WAIT_SECONDS, "retry": None}
        self.errors: tuple[type[Exception], ...] = (redis.RedisError,)
        self._redis: Any = redis.Redis.from_url(address, decode_responses=True, **timeouts)
        self._write = self._redis.register_script(WRITE)

    def read(self, known: Mapping[str, int]) -> dict[str, tuple[int, Fields]]:
        found: dict[str, tuple[int, Fields]] = {}
        for code, score in self._redis.zrange(_keys()[0], 0, -1, withscores=True):
            version, (_, texts, versions) = int(score), _keys(code)
            names = []
            if known.get(code) != version:
                names = self._redis.zrange(versions, f"({known.get(code, 0)}", "+inf", byscore=True)
            values = self._redis.hmget(texts, names) if names else []
            found[code] = version, {name: value for name, value in zip(names, values, strict=True) if value is not None}
        return found

    def write(self, code: str, fields: Fields, is_new: bool = False) -> bool:
        texts = [text for pair in fields.items() for text in pair]
        return bool(self._write(keys=_keys(code), args=[code, "new" if is_new else "", KEPT_SECONDS, *texts]))

    def delete(self, code: str) -> None:
        versions, *rest = _keys(code)
        self._redis.zrem(versions, code)
        self._redis.delete(*rest)


ClassStore = SqliteStore | RedisStore


def _keys(code: str = "") -> list[str]:
    start = f"attention-bitte:{FORMAT}"
    return [f"{start}:versions", f"{start}:{code}:texts", f"{start}:{code}:versions"]


def class_store(where: str) -> ClassStore:
    """The store that a setting names: the address of a Redis, a folder, or "" for a temporary one of this user's.
    Raises ValueError if what it names cannot be used."""
    own = os.getuid() if hasattr(os, "getuid") else ""  # Windows has a temporary directory for each user
    folder = Path(where or f"{gettempdir()}/attention-bitte-classes-{own}")
    try:
        if "://" in where:
            return RedisStore(where)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
        if own != "" and not where and (found.st_uid != own or found.st_mode & 0o170077 != 0o040000):
            raise PermissionError(f"{folder} is not a folder of this user alone")  # another one's may have its name
        return SqliteStore(folder)
    except (OSError, ValueError, ImportError, sqlite3.Error) as error:
        if where:
            raise ValueError(f"TRANSFORMER_CLASSES={where!r} cannot be used: {error}") from error
        access_log.fault("classes", error)
        return SqliteStore(None)
