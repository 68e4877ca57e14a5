"""Visual similarity: robust against light, position and mirroring."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image, ImageEnhance

from productrecs.engines.array_types_and_sorting import NO_RANKED
from productrecs.engines.visual import describe, fit_descriptor_projection
from productrecs.engines.visual.descriptor_projection import (
    DIMENSIONS,
    MIN_PICTURES,
    DescriptorProjection,
)
from productrecs.engines.visual.foreground import find_foreground, salient_boxes
from productrecs.engines.visual.image_descriptor import (
    DESCRIPTOR_BLOCKS,
    LENGTH,
    describe_parts,
)
from productrecs.engines.visual.image_transforms import resize, to_lab
from productrecs.engines.visual.region_proposals import (
    MAX_PROPOSALS,
    MAX_REGIONS,
    USUAL_GARMENTS,
    describe_photo_and_regions,
    intersection_over_union,
    propose_regions,
)
from productrecs.engines.visual.visual_similarity import (
    PicturedItems,
    merge_best_items,
    nearest_items_batch,
)
from tests.support.pictures import COLOURS, SHAPES, drawn, pixels

Array = npt.NDArray[Any]

KINDS = [(colour, shape) for colour in COLOURS for shape in SHAPES]
EACH = 4


@pytest.fixture(scope="module")
def descriptors() -> Array:
    found = [describe(pixels(drawn(*kind, seed))) for seed in range(EACH) for kind in KINDS]
    return np.stack(found)


@pytest.fixture(scope="module")
def space(descriptors: Array) -> DescriptorProjection:
    shapes = [
        np.flatnonzero([kind[1] == shape for _ in range(EACH) for kind in KINDS])
        for shape in SHAPES
    ]
    return fit_descriptor_projection(descriptors, shapes)


def test_another_photo_of_a_product_finds_it_first(
    space: DescriptorProjection, descriptors: Array
) -> None:
    catalog = space.vectors(descriptors[: len(KINDS)])

    queries = space.vectors(np.stack([describe(pixels(drawn(*k, 99))) for k in KINDS]))
    found = (queries @ catalog.T).argmax(axis=1)

    assert (found == np.arange(len(KINDS))).mean() >= 0.9


@pytest.mark.parametrize("change", ["mirrored", "darker", "brighter", "cropped", "tall"])
def test_a_changed_copy_is_the_nearest_of_its_original(
    space: DescriptorProjection, descriptors: Array, change: str
) -> None:
    catalog = space.vectors(descriptors)
    hits = []
    for number in range(0, len(KINDS), 3):
        picture = drawn(*KINDS[number], 0)
        if change == "mirrored":
            picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        elif change in {"darker", "brighter"}:
            factor = 0.85 if change == "darker" else 1.1
            picture = ImageEnhance.Brightness(picture).enhance(factor)
        elif change == "cropped":
            picture = picture.crop((10, 10, 150, 150))
        else:
            picture = picture.resize((320, 320))
        found = catalog @ space.vectors(describe(pixels(picture))[None])[0]
        hits.append(KINDS[int(found.argmax()) % len(KINDS)] == KINDS[number])

    assert np.mean(hits) >= 0.8


def test_a_mirror_image_has_the_same_descriptor_but_for_rounding() -> None:
    image = pixels(drawn("red", "stripes", 3))

    one, other = describe(image), describe(image[:, ::-1])

    assert np.abs(one.astype(int) - other.astype(int)).mean() < 0.5
    assert len(one) == LENGTH == sum(block.length for block in DESCRIPTOR_BLOCKS)


@pytest.mark.parametrize("shape", [(4, 4, 3), (4, 400, 3), (400, 400)])
def test_what_is_no_picture_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="8 pixels"):
        describe(np.zeros(shape, dtype=np.uint8))


@pytest.mark.parametrize("level", [0, 128, 255])
def test_an_even_picture_has_a_descriptor(space: DescriptorProjection, level: int) -> None:
    vector = space.vectors(describe(np.full((50, 30, 3), level, np.uint8))[None])

    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-4)


def test_the_front_is_where_the_product_is() -> None:
    image = np.full((100, 200, 3), 240, np.uint8)
    image[30:80, 120:170] = (200, 20, 30)

    front = find_foreground(to_lab(image))

    assert front.weights[55, 145] > 0.8
    assert front.weights[10, 20] < 0.1
    top, bottom, left, right = front.box
    assert (abs(top - 30), abs(bottom - 80)) < (12, 12)
    assert left > 90
    assert right < 195
    assert front.plainness > 0.8


def test_a_products_own_picture_is_described_alike_as_a_photo() -> None:
    white = np.full((160, 120, 3), 250, np.uint8)
    white[30:130, 25:95] = (200, 20, 30)

    whole, front = describe_photo_and_regions(white)[0]

    assert np.array_equal(whole, describe(white))
    assert not np.array_equal(whole, front)  # a closer look


@pytest.mark.parametrize("wall", [(250, 250, 215), (170, 170, 170)], ids=["warm", "dark"])
def test_light_on_an_even_pale_wall_is_taken_out(wall: tuple[int, int, int]) -> None:
    shop = np.full((160, 160, 3), 250, np.uint8)
    shop[30:130, 40:120] = (120, 60, 40)
    seen = np.rint(shop * (np.array(wall) / 250)).astype(np.uint8)

    lit, unlit = (colours_alike(one, describe(shop)) for one in
                  (describe_photo_and_regions(seen)[0][0], describe(seen)))  # fmt: skip

    assert lit > 0.8
    assert unlit < 0.6 * lit


def colours_alike(one: Array, other: Array) -> float:
    """Return how much of two pictures is of the same colours, 0 to 1."""
    roots = [each[: DESCRIPTOR_BLOCKS[0].length].astype(float) for each in (one, other)]
    return float(roots[0] @ roots[1] / np.prod([np.linalg.norm(each) for each in roots]))


def test_a_small_thing_aside_on_a_floor_is_what_a_photo_is_of() -> None:
    lot = np.random.default_rng(3)
    levels = Image.fromarray(lot.integers(70, 230, (12, 12), dtype=np.uint8))
    planks = np.asarray(levels.resize((240, 240), Image.Resampling.BICUBIC))
    floor = (planks[..., None] * (1.0, 0.8, 0.6)).astype(np.uint8)
    floor[150:210, 20:90] = (210, 20, 40)

    views = describe_photo_and_regions(floor)[0]
    box = np.array(salient_boxes(to_lab(floor))[0])

    assert np.abs(box - np.array([20, 150, 70, 60]) / 240).max() < 0.06
    assert len(views) == 4
    assert np.array_equal(views[1], views[3])


def test_a_picture_of_one_colour_has_no_thing_in_it_that_breaks_anything() -> None:
    for level in (0, 128, 255):
        assert (
            1
            <= len(describe_photo_and_regions(np.full((40, 60, 3), level, np.uint8))[0])
            <= 4
        )


def test_a_part_is_described_as_a_picture_of_its_own() -> None:
    picture = pixels(drawn("red", "ball", side=300))
    window = (slice(40, 200), slice(30, 260))

    part, whole = describe_parts(picture, [window, (slice(0, 300), slice(0, 300))])

    cut = describe(np.ascontiguousarray(picture[window[0], 30:254]))
    near, far = (np.abs(part.astype(int) - one).mean() for one in (cut, whole))
    assert near < far / 2
    with pytest.raises(ValueError, match="a side"):
        describe_parts(picture, [(slice(0, 7), slice(0, 90))])


def test_colours_are_those_of_the_standard() -> None:
    lab = to_lab(np.array([[[255, 255, 255], [0, 0, 0], [255, 0, 0]]], np.uint8))

    expected = [[100, 0, 0], [0, 0, 0], [53.2, 80.1, 67.2]]
    assert np.abs(lab[0] - expected).max() < 2.5


def test_scaling_keeps_the_mean_and_even_planes() -> None:
    plane = np.random.default_rng(1).random((64, 48)).astype(np.float32)

    assert resize(plane, 16, 12).mean() == pytest.approx(plane.mean(), abs=0.02)
    assert np.allclose(resize(np.full((9, 7), 3.0, np.float32), 20, 31), 3.0, atol=1e-4)


def test_learning_is_deterministic_and_survives_being_kept(
    space: DescriptorProjection, descriptors: Array
) -> None:
    shapes = [np.arange(0, len(descriptors), 2), np.arange(1, len(descriptors), 2)]
    one = fit_descriptor_projection(descriptors, shapes)
    other = fit_descriptor_projection(descriptors, shapes)
    kept = DescriptorProjection.from_arrays(space.to_arrays())

    assert all(
        np.array_equal(a, b)
        for a, b in zip(one.to_arrays().values(), other.to_arrays().values(), strict=True)
    )
    assert np.array_equal(kept.vectors(descriptors), space.vectors(descriptors))
    with pytest.raises(ValueError, match="another format"):
        DescriptorProjection.from_arrays(
            {**space.to_arrays(), "space_mean": np.zeros(3, np.float32)}
        )


@pytest.mark.parametrize("count", [0, 1, 3, MIN_PICTURES - 1, MIN_PICTURES])
def test_few_pictures_are_separated_too(descriptors: Array, count: int) -> None:
    space = fit_descriptor_projection(descriptors[:count], [])

    vectors = space.vectors(descriptors[:20])

    assert vectors.shape == (20, DIMENSIONS)
    assert np.isfinite(vectors).all()
    same = vectors @ space.vectors(describe(pixels(drawn(*KINDS[0], 55)))[None])[0]
    assert KINDS[int(same.argmax())][0] == KINDS[0][0]


def test_what_categories_say_brings_their_pictures_together(descriptors: Array) -> None:
    """By shape alone, whatever the colour: without categories, colour wins."""
    shapes = [kind[1] for _ in range(EACH) for kind in KINDS]
    groups = [np.flatnonzero([one == shape for one in shapes]) for shape in SHAPES]

    def together(groups: list[Array]) -> float:
        vectors = fit_descriptor_projection(descriptors, groups).vectors(descriptors)
        likes = vectors @ vectors.T
        np.fill_diagonal(likes, -1)
        near = np.argsort(-likes, axis=1)[:, :10]
        return float(
            np.mean([[shapes[j] == shapes[i] for j in near[i]] for i in range(96)])
        )

    assert together(groups) > together([]) + 0.05


def test_the_best_of_several_lists_are_those_of_the_highest_scores() -> None:
    lot = np.random.default_rng(3)
    vectors = lot.standard_normal((300, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    nothing = np.full(300, np.nan, np.float32)
    numbers = np.arange(300, dtype=np.int32)
    pictured = PicturedItems(vectors, numbers, np.full(300, -1, np.int32), nothing)
    queries = vectors[:5] + 0.3

    found = merge_best_items(nearest_items_batch(pictured, queries, 12), 12)

    likes = (vectors @ queries.T).clip(0, 1).max(axis=1)
    assert found.items.tolist() == np.lexsort((numbers, -likes))[:12].tolist()
    assert np.allclose(found.scores, np.sort(likes)[::-1][:12])
    assert not len(merge_best_items([NO_RANKED], 3).items)


def test_a_small_product_in_a_photo_is_like_one_of_its_regions() -> None:
    red, blue = (pixels(drawn(colour, "ball")) for colour in ("red", "blue"))
    photo = np.full((320, 320, 3), 240, np.uint8)
    photo[20:180, 20:180], photo[150:310, 150:310] = red, blue
    known = np.stack([describe(red), describe(blue)]).astype(np.float32)

    places = np.stack(describe_photo_and_regions(photo)[1]).astype(np.float32)

    assert len(places) <= MAX_REGIONS
    apart = np.abs(known[:, None] - places[None]).sum(axis=2)
    both = np.abs(known[0] - known[1]).sum()
    assert (apart.min(axis=1) < 0.6 * both).all()


def test_a_photo_of_one_colour_has_no_places_and_a_pale_thing_has() -> None:
    photo = np.full((300, 400, 3), 240, np.uint8)
    assert (
        len(propose_regions(photo).boxes) == len(describe_photo_and_regions(photo)[1]) == 0
    )

    photo[100:160, 100:150] = 228

    assert len(propose_regions(photo).boxes) >= 1


def test_an_upright_photo_is_also_searched_for_garments() -> None:
    room = np.random.default_rng(3).integers(120, 126, (320, 200, 3)).astype(np.uint8)
    room[30:300, 70:130] = (200, 40, 40)  # somebody

    upright = propose_regions(room).boxes
    lying = propose_regions(np.ascontiguousarray(room.swapaxes(0, 1))).boxes

    assert max(len(upright), len(lying)) <= MAX_PROPOSALS
    above, below = (0.35, 0.22, 0.3, 0.312), (0.365, 0.48, 0.27, 0.354)  # of the figure
    for garment in (above, below):
        assert max(intersection_over_union(box, garment) for box in upright[:3]) > 0.8
        assert max(intersection_over_union(box, garment) for box in lying[:3]) < 0.8


def test_garments_are_looked_for_in_their_usual_places_before_a_cluttered_street() -> None:
    lot = np.random.default_rng(3)
    street = np.kron(lot.integers(0, 255, (8, 5, 3)), np.ones((40, 40, 1))).astype(np.uint8)

    upright = propose_regions(street).boxes
    lying = propose_regions(np.ascontiguousarray(street.swapaxes(0, 1))).boxes

    assert upright[: len(USUAL_GARMENTS)].tolist() == USUAL_GARMENTS.tolist()
    assert len(USUAL_GARMENTS) < len(upright) <= MAX_PROPOSALS
    assert not set(map(tuple, lying.tolist())) & set(map(tuple, USUAL_GARMENTS.tolist()))


def test_a_scene_is_searched_in_a_grid_and_a_studios_photo_is_not() -> None:
    lot = np.random.default_rng(3)
    clutter = np.kron(lot.integers(0, 255, (6, 8, 3)), np.ones((40, 40, 1))).astype(
        np.uint8
    )
    studio = np.full((240, 320, 3), 255, np.uint8)
    studio[60:180, 100:220] = clutter[:120, :120]

    pair, several = (np.full((240, 320, 3), 255, np.uint8) for _ in range(2))
    for photo, places in ((pair, (20, 200)), (several, (20, 120, 220))):
        for left in places:
            photo[90:160, left : left + 70] = clutter[:70, :70]

    scene, alone = describe_photo_and_regions(clutter), describe_photo_and_regions(studio)

    assert not describe_photo_and_regions(pair).is_scene
    assert describe_photo_and_regions(several).is_scene
    assert scene.is_scene
    assert len(scene.regions) == 9
    corners = {(rows.start, columns.start) for rows, columns in scene.windows}
    assert corners == {(y * 80, x * 320 // 3) for y in range(3) for x in range(3)}
    assert not alone.is_scene
    assert len(alone.regions) <= MAX_REGIONS
