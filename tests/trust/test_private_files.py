"""File permissions: no other user of the machine reads the service's files."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from productrecs.cli.doctor.installation_checks import check_data_folder
from productrecs.core.private_folders import is_shared_folder, make_data_folder_private
from productrecs.services import build_services
from productrecs.settings import Settings
from tests.support.service import Service, eventually

OTHERS = 0o077


def open_to_others(folder: Path) -> list[str]:
    """Return what others may read below a folder, itself included."""
    return [
        f"{path.relative_to(folder.parent)} {path.lstat().st_mode & 0o777:o}"
        for path in (folder, *folder.rglob("*"))
        if not path.is_symlink() and path.lstat().st_mode & OTHERS
    ]


def run(folder: Path, url: str | None, *words: str) -> None:
    environment = {**os.environ, "PRODUCTRECS_DATA": str(folder)}
    if url is not None:
        environment["DATABASE_URL"] = url
    command = [sys.executable, "-m", "productrecs", *words]
    subprocess.run(command, check=True, capture_output=True, env=environment, umask=0)


def test_all_that_is_kept_is_its_owners_alone_on_an_open_umask(
    database_url: str | None, tmp_path: Path
) -> None:
    folder = tmp_path / "new" / "data"
    service = Service(folder, database_url)
    run(folder, database_url, "store", "create", "--domain", "shop.example")
    assert folder.exists() is (database_url is None)
    assert not folder.exists() or open_to_others(folder) == []
    with service:
        merchant = service.register()
        merchant.push({"id": "a", "title": "tent"}, {"id": "b", "title": "boat"})
        merchant.order("o-1", "a", "b")
        merchant.recommend(item_id="a")
        eventually(lambda: merchant.search("tent").ids == ["a"], 30)
        eventually(lambda: any((folder / "models").rglob("*")), 60)
        log = service.log_path  # the tests' own, not the service's
        backup = tmp_path / "backups" / "all.backup"
        backup.parent.mkdir()
        run(folder, database_url, "backup", str(backup))
        assert [one for one in open_to_others(folder) if log.name not in one] == []
    assert backup.stat().st_mode & OTHERS == 0


def test_a_folder_of_an_earlier_release_is_tightened_when_it_is_opened(
    data_folder: Path, database_url: str | None
) -> None:
    for name in ("models/st_1/m", "search/st_1/index-1/products", "uploads"):
        (data_folder / name).mkdir(parents=True)
    for name in ("productrecs.db", "productrecs.db-wal", "models/st_1/m/arrays", "notes"):
        (data_folder / name).touch()
    for path in (data_folder, *data_folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)

    build_services(Settings(data=data_folder, database_url=database_url)).close()

    assert open_to_others(data_folder) == ["data/notes 644"]  # nobody can reach it


def test_what_is_private_already_is_not_gone_through(data_folder: Path) -> None:
    data_folder.chmod(0o700)
    (data_folder / "models").mkdir(mode=0o755)
    make_data_folder_private(data_folder)
    assert open_to_others(data_folder) == ["data/models 755"]
    data_folder.chmod(0o711)
    make_data_folder_private(data_folder)
    assert open_to_others(data_folder) == []


def test_a_folder_that_others_use_too_is_not_closed(tmp_path: Path) -> None:
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "productrecs.db").touch(0o644)

    make_data_folder_private(shared)

    assert open_to_others(shared) == ["tmp 777"]
    assert is_shared_folder(Path(tempfile.gettempdir()))
    assert is_shared_folder(Path.home())
    [found] = [one for one in check_data_folder(shared) if "other users" in one.message]
    assert "a folder of the service's own" in str(found.remedy)
