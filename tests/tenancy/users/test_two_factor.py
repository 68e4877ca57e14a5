"""TOTP: the vectors of RFC 6238, drift and replays."""

import base64

import pytest

from productrecs.tenancy.users.two_factor import (
    STEP_MS,
    find_totp_step,
    new_totp_secret,
    provisioning_uri,
    totp_code,
)

SECRET = base64.b32encode(b"12345678901234567890").decode()


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (59, "94287082"),
        (1111111109, "07081804"),
        (1111111111, "14050471"),
        (1234567890, "89005924"),
        (2000000000, "69279037"),
        (20000000000, "65353130"),
    ],
)
def test_codes_are_those_of_the_rfc(seconds: int, code: str) -> None:
    assert totp_code(SECRET, seconds // 30, digits=8) == code
    assert totp_code(SECRET, seconds // 30) == code[-6:]


@pytest.mark.parametrize("off", [-2, -1, 0, 1, 2])
def test_a_clock_may_be_off_by_one_step(off: int) -> None:
    now = 50_000_000
    code = totp_code(SECRET, now + off)

    found = find_totp_step(SECRET, code, now * STEP_MS, after_step=0)

    assert found == (now + off if abs(off) <= 1 else None)


def test_a_used_step_and_those_before_it_are_refused() -> None:
    now = 50_000_000
    codes = [totp_code(SECRET, now + off) for off in (-1, 0, 1)]

    found = [find_totp_step(SECRET, code, now * STEP_MS, after_step=now) for code in codes]

    assert found == [None, None, now + 1]


@pytest.mark.parametrize("code", ["", "0", "abcdef", "٣٤٥٦٧٨", "0000000"])
def test_what_is_no_code_is_refused(code: str) -> None:
    assert find_totp_step(SECRET, code, 1_000_000_000, after_step=0) is None


def test_a_secret_is_160_random_bits_in_an_address_for_apps() -> None:
    one, other = new_totp_secret(), new_totp_secret()

    assert one != other
    assert len(base64.b32decode(one)) == 20
    assert provisioning_uri(one, "a@b.example", "P") == (
        f"otpauth://totp/P%3Aa%40b.example?secret={one}&issuer=P"
    )
