"""Set one key of a TOML file and leave every other byte as it was, comments too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nacre import disk
from nacre.disk import hold
from nacre.errors import BadSetting


def changed(path: Path, key: str, value: Any) -> str:
    """The text of the file with the key set; None takes it out."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    *tables, name = key.split(".")
    try:
        text = (disk.read_bytes(path) or b"").decode("utf-8")
        document = tomlkit.parse(text)
        place: Any = document
        for table in tables:
            if table not in place:
                if value is None:
                    return text
                place[table] = tomlkit.table()
            place = place[table]
        if value is None:
            place.pop(name, None)
        else:
            place[name] = _item(value)
        after = tomlkit.dumps(document)
    except (TOMLKitError, UnicodeDecodeError, RecursionError, TypeError, AttributeError) as error:
        raise BadSetting(
            f"{path} could not be changed safely ({error}); edit it by hand.",
            f"无法安全修改 {path}（{error}）；请手动编辑。",
        ) from error
    return after.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in text else after


def _item(value: Any) -> Any:
    """Lists and tables are written on one line."""
    import tomlkit

    if isinstance(value, dict):
        table = tomlkit.inline_table()
        table.update(value)
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        array.extend(_item(inner) for inner in value)
        return array
    return value


def set_key(path: Path, key: str, value: Any) -> None:
    with hold(path.with_name("config.lock")):
        disk.write(path, changed(path, key, value).encode())
