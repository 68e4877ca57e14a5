"""Shopper identity: what a signature proves, and what it does not."""

import hashlib

import pytest

from productrecs.core.clock import DAY_MS, HOUR_MS
from productrecs.tenancy.accounts.api_keys import SecretKey, first_secret, hash_secret
from productrecs.tenancy.accounts.shopper_identity import (
    IdentityVerdict,
    check_identity,
    identity_warnings,
    sign_identity,
)

NOW = 1_772_366_400_000  # 2026-03-01 12:00 UTC
SECRET = SecretKey("sk_" + "a" * 43)
OTHER = SecretKey("sk_" + "b" * 43)
KEYS = first_secret(SECRET, NOW)
IN_A_DAY = (NOW + DAY_MS) // 1_000


def signed(customer: str = "7", expires: int = IN_A_DAY, secret: str = SECRET) -> str:
    return sign_identity(hash_secret(secret), customer, expires)


def test_a_shop_can_compute_it_from_the_secret_key_alone() -> None:
    assert signed("7", 1_893_456_000) == (
        "1893456000.2265808643c72e924f9dd46ae0bd373879145281312b70908569ca4ce82b4e9d"
    )
    assert hash_secret(SECRET) == hashlib.sha256(SECRET.encode()).hexdigest()


@pytest.mark.parametrize(
    ("identity", "customer", "check"),
    [
        (None, "7", IdentityVerdict.ABSENT),
        ("", "7", IdentityVerdict.ABSENT),
        (signed(), "7", IdentityVerdict.VALID),
        (signed("kundin-\u00e4"), "kundin-\u00e4", IdentityVerdict.VALID),
        (signed(), "8", IdentityVerdict.WRONG),
        (signed(), None, IdentityVerdict.WITHOUT_ID),
        (signed(), "", IdentityVerdict.WITHOUT_ID),
        (signed(secret=OTHER), "7", IdentityVerdict.WRONG),
        (signed().replace(str(IN_A_DAY), str(IN_A_DAY + 1)), "7", IdentityVerdict.WRONG),
        (signed().upper(), "7", IdentityVerdict.MALFORMED),
        (signed() + "0", "7", IdentityVerdict.MALFORMED),
        (signed() + "\n", "7", IdentityVerdict.MALFORMED),
        ("7", "7", IdentityVerdict.MALFORMED),
        (signed(expires=NOW // 1_000), "7", IdentityVerdict.EXPIRED),
        (signed(expires=NOW // 1_000 + 1), "7", IdentityVerdict.VALID),
        (signed(expires=(NOW + 400 * DAY_MS) // 1_000), "7", IdentityVerdict.VALID),
        (signed(expires=(NOW + 400 * DAY_MS) // 1_000 + 1), "7", IdentityVerdict.TOO_LONG),
    ],
)
def test_an_identity_proves_one_id_until_it_expires(
    identity: str | None, customer: str | None, check: IdentityVerdict
) -> None:
    assert check_identity(KEYS, identity, customer, NOW) is check
    is_fine = check in {IdentityVerdict.ABSENT, IdentityVerdict.VALID}
    assert bool(identity_warnings([(customer, check)])) is not is_fine


def test_a_replaced_key_signs_as_long_as_it_is_accepted() -> None:
    keys = KEYS.replaced_by(OTHER, NOW, HOUR_MS)

    assert check_identity(keys, signed(), "7", NOW + HOUR_MS - 1) is IdentityVerdict.VALID
    assert check_identity(keys, signed(), "7", NOW + HOUR_MS) is IdentityVerdict.WRONG
    newest = signed(secret=OTHER)
    assert check_identity(keys, newest, "7", NOW + HOUR_MS) is IdentityVerdict.VALID
