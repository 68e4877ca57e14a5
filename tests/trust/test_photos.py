"""Hostile pictures: they cost only their own request, and photos are not stored."""

import base64
import contextlib
import http.client
import io
import json
import random
import re
import struct
import sys
import zlib
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest
from PIL import Image

from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder
from tests.support.pictures import drawn, encoded, see
from tests.support.service import Merchant, Reply, Service, eventually
from tests.trust.test_secrets import BROKEN, everything_on_disk, places

MARK: Final = "zq99-the-marked-photo"
PEAK_KB: Final = 600 << 10
KINDS: Final = ("JPEG", "PNG", "WEBP", "AVIF", "GIF")
WAYS: Final[dict[str, dict[str, Any]]] = {
    "JPEG": {"progressive": True, "quality": 95},
    "PNG": {"compress_level": 1},
    "WEBP": {"lossless": True},
    "AVIF": {"quality": 20},
    "GIF": {"interlace": 0},
}
MOST_MS: Final = 1_000.0
"""Of processor time; 300 are asked for where nobody else takes the caches away."""

LARGEST_MS: Final = 2_500.0
"""Of a whole picture of nearly 25 megapixels, which is read (docs/decisions/0056)."""


def chunk(kind: bytes, content: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + check


def png(
    width: int, height: int, *between: bytes, depth: int = 8, colour: int = 2, way: int = 0
) -> bytes:
    """Return a PNG whose pixels are all there, packed as small as they can be.

    Each row is filtered in one `way`; 4 takes readers longest.
    """
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    channels = {0: 1, 2: 3, 6: 4}[colour]
    packer = zlib.compressobj(9)
    row = bytes([way]) + bytes(width * channels * depth // 8)
    packed = b"".join(packer.compress(row) for _ in range(min(height, 6_000)))
    packed += packer.flush()
    parts = [chunk(b"IHDR", head), *between, chunk(b"IDAT", packed), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def gif(width: int, height: int, frames: int) -> bytes:
    """Return a GIF of many frames, each one byte of a picture."""
    head = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(6)
    frame = b"," + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x02\x02\x44\x01\x00"
    return head + frame * frames + b";"


def bombs() -> dict[str, bytes]:
    """Return forty files that take far more than they weigh, or claim to."""
    packed = zlib.compress(bytes(64 << 20), 9)
    green = Image.new("RGB", (4_900, 5_000), "green")
    wide = Image.new("RGB", (2_800, 2_857), "green")
    small = encoded(drawn("red", "ball"), "PNG")
    found: dict[str, bytes] = {}
    for size in ((65_535, 65_535), (20_000, 20_000), (10_001, 8), (5_001, 5_000)):
        head = small[12:16] + struct.pack(">II", *size) + small[24:29]
        check = struct.pack(">I", zlib.crc32(head))
        found[f"png claims {size}"] = small[:12] + head + check + small[33:]
    found |= {
        "png of 24 megapixels": png(4_900, 5_000),
        "png of 24 megapixels, 16 bits, alpha": png(4_900, 5_000, depth=16, colour=6),
        "png of 24 megapixels, grey": png(4_900, 5_000, colour=0),
        "png of 24 megapixels, filtered by three neighbours": png(4_900, 5_000, way=4),
        "png of 8 megapixels, filtered by three neighbours": png(2_890, 2_890, way=4),
        "png with a text bomb": png(64, 64, chunk(b"zTXt", b"a\0\0" + packed)),
        "png with many text bombs": png(64, 64, *[chunk(b"zTXt", b"a\0\0" + packed)] * 9),
        "png with an international text bomb": png(
            64, 64, chunk(b"iTXt", b"a\0\1\0\0\0" + packed)
        ),
        "png with a profile bomb": png(64, 64, chunk(b"iCCP", b"a\0\0" + packed)),
        "png with much behind it": small + bytes(9 << 20),
        "gif of ten thousand frames": gif(400, 400, 10_000),
        "gif 65535x65535": gif(65_535, 65_535, 1),
        "gif of 24 megapixels": gif(4_900, 5_000, 3),
        "jpeg of 24 megapixels": encoded(green),
        "jpeg of 24 megapixels, progressive": encoded(green, progressive=True),
        "webp of 24 megapixels": encoded(green, "WEBP", quality=20, method=0),
        "webp of 24 megapixels, lossless": encoded(green, "WEBP", lossless=True, method=0),
        "jpeg of 24 megapixels, in a hundred passes": _in_passes(green, 100),
        "jpeg of 8 megapixels, in a hundred passes": _in_passes(wide, 100),
        "webp of 8 megapixels": encoded(wide, "WEBP", quality=20, method=0),
        "avif of 8 megapixels": encoded(wide, "AVIF", speed=10, quality=20),
        "jpeg with a long comment": encoded(drawn("red", "ball"), comment=bytes(60_000)),
        "webp claims 16383x16383": _webp_head(16_383, 16_383),
        "jpeg claims 65535x65535": _jpeg_head(65_535, 65_535),
        "jpeg claims 24 megapixels": _jpeg_head(4_900, 5_000),
    }
    box = drawn("red", "box")
    disguises = {kind: encoded(box, kind) for kind in ("BMP", "TIFF", "ICO", "PPM")}
    disguises |= {
        "svg": b"<svg xmlns='http://www.w3.org/2000/svg'><image href='http://10.0.0.1'/>",
        "xml": b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/x'>]>",
        "pdf": b"%PDF-1.7\n" + bytes(1_000),
        "ps": b"%!PS-Adobe-3.0 EPSF-3.0\n(x) run",
        "fits": b"SIMPLE  =                    T" + bytes(2_880),
        "html": b"<html><img src=x>",
        "zip": b"PK\x03\x04" + bytes(500),
        "zeros": bytes(10 << 20),
        "ff": b"\xff" * 100_000,
        "jpeg 2000": b"\0\0\0\x0cjP  \r\n\x87\n" + bytes(200),
        "heic": b"\0\0\0\x18ftypheic",
        "nothing": b"",
        "a header alone": small[:33],
    }
    return found | disguises


def _in_passes(picture: Image.Image, count: int) -> bytes:
    """Return a JPEG whose last pass is repeated: each draws all of it."""
    jpeg = encoded(picture, progressive=True)
    last = jpeg[jpeg.rindex(b"\xff\xda") : -2]
    return jpeg[:-2] + last * count + jpeg[-2:]


def _webp_head(width: int, height: int) -> bytes:
    size = [(side - 1).to_bytes(3, "little") for side in (width, height)]
    body = b"WEBPVP8X" + struct.pack("<I", 10) + bytes(4) + b"".join(size)
    body += b"VP8 " + bytes(40)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _jpeg_head(width: int, height: int) -> bytes:
    whole = bytearray(encoded(drawn("red", "ball")))
    place = whole.index(b"\xff\xc0") + 5
    whole[place : place + 4] = struct.pack(">HH", height, width)
    return bytes(whole)


PATHS: Final = ("/v1/search/image", "/v1/shop-the-look/analyze")
EYE: Final = "records.pictures.decoder_process"


def peak_kb(pid: int | None) -> int:
    """Return the most memory that a process has ever had; 0 when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("ascii")
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+)", status)
    return int(found[1]) if found else 0


def answering(service: Service) -> set[int]:
    """Return the processes that answer requests; a restarted one has another id."""
    return {pid for pid, said in service.processes().items() if said.startswith("api")}


def eyes(service: Service) -> list[int]:
    return [pid for pid, said in service.processes().items() if EYE in said]


class PhotoCosts:
    """What each photo costs the child that looks: processor time, as the kernel counts.

    By the clock on the wall a busy machine would be measured.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._spent: dict[int, float] = {}
        self._note_children()
        self.costs: list[tuple[float, str]] = []
        self.killed: list[str] = []
        """Files that cost a child its life."""

    def show(self, merchant: Merchant, path: str, data: bytes, name: str) -> int:
        """Show a photo, note what it cost, and return the status of the reply."""
        reply = show(merchant, path, data)
        photo = f"{name}, {path}: {reply.status}"
        if b"too long or too much" in reply.body:
            self.killed.append(photo)
        now = {pid: _spent(pid) for pid in self._spent}
        cost = sum(now[pid] - before for pid, before in self._spent.items() if now[pid])
        self.costs.append((round(1000 * cost, 1), photo))
        self._spent = now
        if not cost or not all(now.values()):  # another child looks now
            self._note_children()
        return reply.status

    def said(self) -> str:
        """Return how the costs spread."""
        costs = sorted(self.costs)
        shares = {f"p{share}": len(costs) * share // 100 for share in (50, 90, 99)}
        percentiles = {name: costs[place][0] for name, place in shares.items()}
        return (
            f"{len(costs)} files: {percentiles} ms, most {costs[-3:]}; "
            f"killed {self.killed}\n"
        )

    def _note_children(self) -> None:
        self._spent = {pid: _spent(pid) for pid in eyes(self._service)}


def _spent(pid: int) -> float:
    """Return the seconds of a processor that a process has had; 0 when it is gone."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text("ascii").split()[0]) / 1e9
    except (OSError, IndexError):
        return 0.0


@pytest.fixture(scope="module")
def shop(service: Service) -> Merchant:
    """Give a store that knows a picture, so that photos are looked at to the end."""
    merchant = service.register()
    merchant.push({"id": "red-ball", "image_url": "https://i.example/1.jpg"})
    with service.database() as database:
        store_id = merchant.account.store_id
        see(database, service.folder / "pictures", store_id, {"red-ball": RED_BALL})
    eventually(lambda: show(merchant, PATHS[0], encoded(RED_BALL)).ids == ["red-ball"])
    return merchant


RED_BALL: Final = drawn("red", "ball")


def show(merchant: Merchant, path: str, data: bytes) -> Reply:
    body = b'{"image":"%b"}' % base64.b64encode(data)
    headers = {"content-type": "text/plain"}
    return merchant.client.ask("POST", merchant.target(path), body, headers)


@pytest.mark.parametrize(
    "paths", [PATHS[:1], pytest.param(PATHS, marks=pytest.mark.trust)], ids=["", "both"]
)
def test_forty_bombs_are_answered_in_bounded_time_and_memory(
    service: Service, shop: Merchant, paths: tuple[str, ...]
) -> None:
    found, before = bombs(), answering(service)
    assert len(found) >= 40
    assert len(before) == service.workers
    wrong: dict[str, Any] = {}
    photo_costs = PhotoCosts(service)
    for name, data in found.items():
        for path in paths:
            status = photo_costs.show(shop, path, data, name)
            if status not in {200, 413, 422}:
                wrong[name] = (path, status)
            most = max(map(peak_kb, eyes(service)), default=0)
            if most > PEAK_KB:
                wrong[name] = (path, most)
    sys.stdout.write(photo_costs.said())

    assert wrong == {}
    bounds = {True: 2.5 * LARGEST_MS, False: 2.5 * MOST_MS}
    slow = [
        one for one in photo_costs.costs if one[0] > bounds["of 24 megapixels" in one[1]]
    ]
    assert slow == []
    assert answering(service) == before
    assert show(shop, PATHS[0], encoded(RED_BALL)).ids == ["red-ball"]


def test_control_without_a_look_at_the_header_a_bomb_takes_its_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trusting_child.py").write_text(
        "import resource\n"
        "from productrecs.records.pictures import decode_picture, decoder_process\n"
        "decode_picture._check_size = lambda picture, data: None\n"
        "decoder_process._limit_memory = lambda: None\n"
        "decoder_process.main()\n"
    )
    monkeypatch.setattr(
        "productrecs.records.pictures.sandboxed_decoder.decoder_module",
        lambda: "trusting_child",
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with SandboxedDecoder(seconds=20) as trusting:
        trusting.describe(encoded(drawn("red", "ball")))
        trusting.describe(
            encoded(Image.new("RGB", (13_000, 13_000)), "PNG", compress_level=1)
        )

        assert peak_kb(trusting.pid) > PEAK_KB


@pytest.mark.parametrize(
    ("seed", "count"),
    [
        (1, 250),
        *[pytest.param(seed, 2_500, marks=pytest.mark.trust) for seed in range(2, 10)],
    ],
)
def test_mutated_files_are_seen_or_refused(
    service: Service, shop: Merchant, seed: int, count: int
) -> None:
    lot = random.Random(seed)  # noqa: S311 - the same files every time
    small = drawn("red", "stripes", side=48)
    whole = [encoded(small, kind) for kind in KINDS]
    whole += [encoded(small.convert("RGB"), kind, **WAYS[kind]) for kind in KINDS]
    before, statuses = answering(service), Counter[int]()
    assert len(before) == service.workers
    photo_costs = PhotoCosts(service)
    for number in range(count):
        data = bytearray(whole[number % len(whole)])
        for _ in range(lot.randint(1, 12)):
            data[lot.randrange(len(data))] = lot.randrange(256)
        if lot.random() < 0.2:
            del data[lot.randrange(len(data)) :]
        path = PATHS[lot.random() < 0.05]  # the analysis takes some times as long
        name = f"{KINDS[number % len(KINDS)]} {number}"
        statuses[photo_costs.show(shop, path, bytes(data), name)] += 1
    most = max(map(peak_kb, eyes(service)), default=0)
    sys.stdout.write(photo_costs.said())

    assert {200, 422} <= set(statuses) <= {200, 413, 422}
    assert photo_costs.killed == []
    assert [one for one in photo_costs.costs if one[0] > MOST_MS] == []
    assert most <= PEAK_KB
    assert answering(service) == before
    assert show(shop, PATHS[0], encoded(RED_BALL)).ids == ["red-ball"]


def test_control_a_child_that_is_trusted_takes_its_process_along(
    data_folder: Path,
) -> None:
    """The same question finds out when files are read where requests are answered."""
    with Service(data_folder, broken=BROKEN / "aborts_on_photo").prepare() as service:
        merchant = service.register()
        merchant.push({"id": "a"})
        before = answering(service)
        assert before
        with contextlib.suppress(OSError, http.client.HTTPException):
            show(merchant, PATHS[0], b"\xff\xd8\xff a file that kills its reader")

        eventually(lambda: answering(service) != before)


def marked() -> bytes:
    """Return a photo with a text in it that would be found wherever it is kept."""
    exif = Image.Exif()
    exif[0x010E] = MARK
    return encoded(drawn("red", "ball"), "JPEG", exif=exif)


def show_photos(merchant: Merchant) -> None:
    image = base64.b64encode(marked()).decode()
    for path in ("/v1/search/image", "/v1/shop-the-look/analyze"):
        for body in ({"image": image}, {"image": image, "num": 99}, {"image": image[:-99]}):
            sent: Any = json.dumps(body).encode()
            headers = {"content-type": "text/plain"}
            merchant.client.ask("POST", merchant.target(path), sent, headers)


@pytest.mark.parametrize("broken", [None, BROKEN / "curious_eye"], ids=["whole", "control"])
def test_a_photo_is_kept_nowhere(data_folder: Path, broken: Path | None) -> None:
    with Service(data_folder, broken=broken).prepare() as service:
        merchant = service.register()
        merchant.push({"id": "a"})
        show_photos(merchant)
        service.stop()
        written = everything_on_disk(data_folder)

    assert io.BytesIO(marked()).read().count(MARK.encode()) == 1
    code = base64.b64encode(marked()).decode()[200:260]
    found = places(written, MARK) | places(written, code)
    assert bool(found) == (broken is not None)
