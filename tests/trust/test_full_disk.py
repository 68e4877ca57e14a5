"""Full disk: reported, survived, and over as soon as there is space.

The data folder is a small disk of its own, which a file beside the data fills to its last
byte while a crowd shops. Only root may mount one; elsewhere this is skipped and says so.
"""

import contextlib
import errno
import os
from pathlib import Path
from typing import Final

import pytest

from tests.support.service import Merchant, Service, eventually
from tests.support.uploads import process
from tests.trust.history import Outcome, Verdict
from tests.trust.load import Crowd, stored

BROKEN: Final = Path(__file__).parent / "broken"
RESUMES_WITHIN: Final = 30.0  # ten seconds are promised; other tests run beside this one
ENDS_WITHIN: Final = 1.0
FEW: Final = 20  # requests refused before there is space again, and taken after


def fill(disk: Path) -> Path:
    """Leave not one byte free; return the file that takes them."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 20, 4_096, 1):
            with contextlib.suppress(OSError):
                while file.write(b"x" * size):
                    pass
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        (disk / "more").write_bytes(b"x" * 4_096)
    return filler


def verdict_of(service: Service, merchant: Merchant, crowd: Crowd) -> Verdict:
    with service.database() as database:
        return crowd.history.judge(stored(database, merchant.account.store_id))


def counts(crowd: Crowd) -> tuple[int, int]:
    """Return how many sendings were taken, and how many refused."""
    history = crowd.history
    return len(history.having(Outcome.OK)), len(history.having(Outcome.FAILED))


def survive(service: Service, disk: Path, times: int) -> Verdict:
    """Fill the disk of a busy service again and again; return what it kept."""
    merchant = service.register()
    assert merchant.push({"id": "a"}, {"id": "b"}).status == 200
    first = set(service.processes())
    crowd = Crowd(service, merchant, size=4, seed=9)
    with crowd.busy():
        for _ in range(times):
            taken, refused = counts(crowd)
            filler = fill(disk)
            eventually(lambda before=refused: counts(crowd)[1] >= before + FEW, 30)  # type: ignore[misc]  # a lambda's default
            assert set(merchant.trending().ids) == {"a", "b"}
            assert merchant.recommend(item_id="a", session_id="s_new").ids == ["b"]
            filler.unlink()
            eventually(lambda before=taken: counts(crowd)[0] > before + FEW, RESUMES_WITHIN)  # type: ignore[misc]  # a lambda's default
    assert first <= set(service.processes())  # nothing had to be started again
    return verdict_of(service, merchant, crowd)


@pytest.mark.parametrize("times", [1, pytest.param(20, marks=pytest.mark.trust)])
def test_a_full_disk_acknowledges_nothing_shows_everything_and_is_over_at_once(
    disk: Path, times: int
) -> None:
    with Service(disk / "data", command="api").prepare() as service:
        verdict = survive(service, disk, times)

        assert verdict.is_clean, verdict


def test_control_a_service_that_answers_before_it_stores_loses_on_a_full_disk(
    disk: Path,
) -> None:
    broken = BROKEN / "early_ack"
    with Service(disk / "data", command="api", broken=broken).prepare() as service:
        merchant = service.register()
        crowd = Crowd(service, merchant, size=4, seed=9)
        with crowd.busy():
            eventually(lambda: len(crowd.history.having(Outcome.OK)) > 20, 30)
            fill(disk)
            before = len(crowd.history.having(Outcome.OK))
            eventually(lambda: len(crowd.history.having(Outcome.OK)) > before + 50, 30)
        (disk / "filler").unlink()

        assert verdict_of(service, merchant, crowd).lost


@pytest.mark.trust
def test_a_writer_whose_disk_fails_to_sync_acknowledges_nothing_and_ends_at_once(
    data_folder: Path,
) -> None:
    broken, fault = BROKEN / "failing_sync", data_folder / "broken"
    with Service(data_folder, broken=broken).prepare() as service:
        merchant = service.register()
        assert merchant.push({"id": "a"}).status == 200
        assert merchant.order("before", "a").status == 200
        writer = Path(f"/proc/{process(service, 'writer')}")
        fault.touch()

        assert merchant.order("meanwhile", "a").status == 503
        assert eventually(lambda: not writer.exists(), 20) <= ENDS_WITHIN
        assert merchant.trending().ids == ["a"]
        fault.unlink()

        eventually(lambda: merchant.order("after", "a").status == 200, RESUMES_WITHIN)
        with service.database() as database:
            rows = stored(database, merchant.account.store_id)
    assert {"before", "after"} <= set(rows) <= {"before", "meanwhile", "after"}
