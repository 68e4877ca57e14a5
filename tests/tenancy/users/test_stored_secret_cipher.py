"""Encryption of secrets: one key of a file or of a setting, and no other reads them."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from productrecs.tenancy.users.stored_secret_cipher import (
    KEY_FILE,
    StoredSecretCipher,
    UnreadableSecretError,
    is_encrypted,
)

SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
KEY = "a key of the operator that nobody guesses"


def test_the_first_secret_makes_a_key_that_only_its_owner_reads(tmp_path: Path) -> None:
    file = tmp_path / KEY_FILE
    cipher = StoredSecretCipher(None, file)
    assert cipher.decrypt(SECRET) == SECRET, "it is one of an earlier release"
    assert not file.exists()

    stored = cipher.encrypt_if_keyed(SECRET)

    assert is_encrypted(stored)
    assert SECRET not in stored
    assert len(stored) <= 255
    assert StoredSecretCipher(None, file).decrypt(stored) == SECRET
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_processes_that_begin_together_agree_on_one_key(tmp_path: Path) -> None:
    file = tmp_path / KEY_FILE

    with ThreadPoolExecutor(8) as pool:
        stored = list(
            pool.map(
                lambda _: StoredSecretCipher(None, file).encrypt_if_keyed(SECRET), range(32)
            )
        )

    assert {StoredSecretCipher(None, file).decrypt(one) for one in stored} == {SECRET}


def test_the_text_of_the_file_is_a_key_for_the_setting(tmp_path: Path) -> None:
    file = tmp_path / KEY_FILE
    stored = StoredSecretCipher(None, file).encrypt_if_keyed(SECRET)

    assert StoredSecretCipher(file.read_text().strip(), None).decrypt(stored) == SECRET


@pytest.mark.parametrize(
    ("key", "file_text"),
    [
        (None, None),
        (None, b""),
        (None, b"another key"),
        (None, b"\xff\xfe"),
        (KEY + "!", None),
        (KEY + "!", KEY.encode()),
    ],
)
def test_without_its_key_a_secret_is_unreadable(
    tmp_path: Path, key: str | None, file_text: bytes | None
) -> None:
    file = tmp_path / KEY_FILE
    stored = StoredSecretCipher(KEY, None).encrypt_if_keyed(SECRET)
    if file_text is not None:
        file.write_bytes(file_text)

    with pytest.raises(UnreadableSecretError):
        StoredSecretCipher(key, file).decrypt(stored)
    with pytest.raises(UnreadableSecretError):
        StoredSecretCipher(None, None).decrypt(stored)


def test_a_changed_secret_is_refused() -> None:
    cipher = StoredSecretCipher(KEY, None)
    stored = cipher.encrypt_if_keyed(SECRET)
    flipped = "A" if stored[40] != "A" else "B"

    with pytest.raises(UnreadableSecretError):
        cipher.decrypt(stored[:40] + flipped + stored[41:])


def test_replicas_without_a_common_key_store_secrets_as_they_are() -> None:
    assert StoredSecretCipher(None, None).encrypt_if_keyed(SECRET) == SECRET
