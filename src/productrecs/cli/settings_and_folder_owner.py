"""Installation: the settings of a command, and the owner of its data folder."""

import errno
import os
import pwd
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.settings import Settings, from_environment

ENVIRONMENT_FILE: Final = Path("/etc/productrecs/productrecs.env")
"""The settings of a service that systemd runs, one NAME=value a line."""

_DATA: Final = "PRODUCTRECS_DATA"
_NAMED_BY: Final = (_DATA, "DATABASE_URL", "DATABASE_URL_FILE")
_QUOTES: Final = "\"'"


class UnusableInstallationError(ProductRecsError):
    """The installation's environment file, data folder or database cannot be used."""


def load_settings(
    data: Path | None,
    environment: MutableMapping[str, str] = os.environ,
    file: Path | None = None,
) -> Settings:
    """Return the settings of the installation that a command is called for.

    `--data`, PRODUCTRECS_DATA or DATABASE_URL name it. Without them it is the one of the
    environment file, whose settings are added to `environment`; else `./data`.

    Raises:
        SettingsError: when a setting has an invalid value.
        UnusableInstallationError: when the environment file is unreadable, or names no
            folder.
    """
    if data is None and not any(environment.get(name) for name in _NAMED_BY):
        file = file or ENVIRONMENT_FILE
        file_settings = _read_environment_file(file)
        if file_settings is not None:
            for name, value in file_settings.items():
                environment.setdefault(name, value)
            if not environment.get(_DATA):
                message = f"{file} names no data folder; add the line {_DATA}=/var/lib/..."
                raise UnusableInstallationError(message)
    return from_environment(environment, data)


def _read_environment_file(file: Path) -> Mapping[str, str] | None:
    """Return the settings of an environment file of systemd; None if it is missing."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        advice = "run the command with sudo" if error.errno == errno.EACCES else "check it"
        message = f"{file}, the settings of this machine's service: {error.strerror}"
        raise UnusableInstallationError(f"{message}; {advice}") from error
    settings = [
        line.partition("=")
        for line in map(str.strip, lines)
        if "=" in line and line[0] not in {"#", ";"}
    ]
    return {name.strip(): _unquote(value.strip()) for name, _, value in settings}


def _unquote(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in _QUOTES
    return value[1:-1] if is_quoted else value


def stat_of_folder_owner(settings: Settings) -> os.stat_result | None:
    """Return the status of the path that shows the owner; None without a data folder.

    It is the folder, or the database in a folder that root made for the service, such as
    a volume.
    """
    folder = _stat_or_none(settings.data)
    if folder is not None and folder.st_uid == 0:
        return _stat_or_none(settings.database_file) or folder
    return folder


def _stat_or_none(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:  # missing, or in a folder that this user may not enter
        return None


def switch_to_folder_owner(settings: Settings) -> None:
    """Run as the owner of the data folder from now on, so that new files belong to it.

    Raises:
        UnusableInstallationError: when this user is neither the owner nor root.
    """
    owner, uid = stat_of_folder_owner(settings), os.geteuid()
    if owner is None or owner.st_uid == uid:
        return
    if uid == 0:
        _switch_user(owner)
        return
    is_shared = os.access(settings.data, os.R_OK | os.W_OK | os.X_OK)
    if is_shared and _stat_or_none(settings.database_file) is None:
        return  # a group's volume beside a database server
    name = user_name(owner.st_uid)
    message = f"the data folder {settings.data} belongs to {name}"
    raise UnusableInstallationError(f"{message}: run the command with sudo -u {name}")


def _switch_user(owner: os.stat_result) -> None:
    try:
        user = pwd.getpwuid(owner.st_uid)
    except KeyError:  # a container's user, which this machine does not know
        os.setgroups([owner.st_gid])
        os.setgid(owner.st_gid)
    else:
        os.initgroups(user.pw_name, user.pw_gid)
        os.setgid(user.pw_gid)
        os.environ["HOME"] = user.pw_dir
    os.setuid(owner.st_uid)


def user_name(uid: int) -> str:
    """Return a user's name, or `#` and the number of an unknown one, as sudo takes it."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"#{uid}"
