"""Demo looks: the scenes, their pieces and the position of each piece in the picture."""

from dataclasses import dataclass
from typing import Final

from demo_store.departments import ALL_PRODUCTS, DemoProduct
from demo_store.pictures.canvas import Canvas, Drawing
from demo_store.pictures.colours import COLOURS, WHITE, blend
from demo_store.pictures.drawing_files import read_drawing
from demo_store.pictures.product_picture import encode_webp, make_drawing

WIDTH, HEIGHT = 1_200, 900
_TALL: Final = 100 * HEIGHT / WIDTH  # units of a scene, which is 100 wide


@dataclass(frozen=True, slots=True)
class LookProduct:
    """A product in a look: the position of its sheet's corner, and its scale."""

    item_id: str
    label: str
    x: float
    y: float
    scale: float


@dataclass(frozen=True, slots=True)
class DemoLook:
    """A look: the main piece first, then the other pieces from back to front.

    `words` are the alternative text of the picture.
    """

    id: str
    title: str
    words: str
    ground: str
    colour: str
    products: tuple[LookProduct, ...]

    @property
    def item_ids(self) -> list[str]:
        """The ids of its products, in their order."""
        return [product.item_id for product in self.products]


LOOKS: Final = (
    DemoLook(
        "tarn",
        "A night by the tarn",
        "A tent on the grass by a lake, with a rucksack, a lantern, a stove and a mug.",
        "scene-tarn",
        "sky",
        (
            LookProduct("ridge-tent-for-two", "Tent", 5, 8, 0.62),
            LookProduct("rucksack-38-l", "Rucksack", 55, 27, 0.38),
            LookProduct("camp-lantern-rechargeable", "Lantern", 44, 46, 0.24),
            LookProduct("gas-stove-folding", "Stove", 68, 48, 0.24),
            LookProduct("enamel-mug", "Mug", 84, 54, 0.15),
        ),
    ),
    DemoLook(
        "tea",
        "Tea for a long afternoon",
        "A table at the window with a teapot, cups, biscuits, honey and a candle.",
        "scene-table",
        "clay",
        (
            LookProduct("teapot-1-1-l-stoneware", "Teapot", 28, 24, 0.42),
            LookProduct("oat-biscuits-200-g", "Biscuits", 4, 27, 0.36),
            LookProduct("candlestick-stoneware", "Candlestick", 62, 14, 0.46),
            LookProduct("wildflower-honey-500-g", "Honey", 74, 45, 0.22),
            LookProduct("espresso-cups-pair", "Cups", 50, 42, 0.3),
        ),
    ),
    DemoLook(
        "corner",
        "The reading corner",
        "An armchair with cushion and throw, a floor lamp, slippers and a basket.",
        "scene-corner",
        "moss",
        (
            LookProduct("floor-lamp-oak", "Floor lamp", 1, 3, 0.66),
            LookProduct("felt-slippers-charcoal", "Slippers", 22, 52, 0.24),
            LookProduct("wool-throw-tartan", "Throw", 58, 23, 0.26),
            LookProduct("linen-cushion-50-cm-moss", "Cushion", 40, 23, 0.24),
            LookProduct("log-basket-willow", "Basket", 70, 42, 0.3),
        ),
    ),
    DemoLook(
        "rain",
        "Dressed for rain",
        "Laid out on the floor: a waxed jacket, boots, a scarf, a beanie and an umbrella.",
        "scene-floor",
        "oak",
        (
            LookProduct("waxed-jacket", "Jacket", 3, 3, 0.48),
            LookProduct("lambswool-scarf-moss", "Scarf", 43, -1, 0.38),
            LookProduct("beanie-rust", "Beanie", 72, 2, 0.24),
            LookProduct("walking-boots-brown", "Boots", 34, 38, 0.36),
            LookProduct("umbrella-ash-handle", "Umbrella", 64, 28, 0.36),
            LookProduct("walking-socks-two-pairs", "Socks", 7, 47, 0.27),
        ),
    ),
)
_PRODUCTS: Final[dict[str, DemoProduct]] = {product.id: product for product in ALL_PRODUCTS}


def find_look(look_id: str) -> DemoLook | None:
    """Return a look by its id."""
    return next((look for look in LOOKS if look.id == look_id), None)


def expected_look_id(look: DemoLook, item_id: str) -> int:
    """Return the id that the look of a product's page will have.

    Each picture takes a number first; then each page's look does, in this order.
    """
    before = LOOKS[: LOOKS.index(look)]
    earlier = len(LOOKS) + sum(len(other.products) for other in before)
    return earlier + look.item_ids.index(item_id) + 1


def draw_look(look: DemoLook, width: int = WIDTH) -> bytes:
    """Return the picture of a look as WebP, in the ratio 4:3."""
    colour = COLOURS[look.colour]
    canvas = Canvas((width, width * HEIGHT // WIDTH), blend(colour, WHITE, 0.6))
    canvas.paint_room(Drawing(read_drawing(look.ground), colour))
    for look_product in (*look.products[1:2], look.products[0], *look.products[2:]):
        canvas.paint(_placed_drawing(look_product))
    return encode_webp(canvas)


def hotspot_box(look_product: LookProduct) -> tuple[float, float, float, float]:
    """Return a piece's box: left, top, width, height, as fractions of the picture."""
    points = [
        point for shape in _placed_drawing(look_product).shapes for point in shape.points
    ]
    left = max(0.0, min(x for x, _ in points))
    top = max(0.0, min(y for _, y in points))
    right = min(100.0, max(x for x, _ in points))
    bottom = min(_TALL, max(y for _, y in points))
    return (
        round(left / 100, 4),
        round(top / _TALL, 4),
        round((right - left) / 100, 4),
        round((bottom - top) / _TALL, 4),
    )


def _placed_drawing(look_product: LookProduct) -> Drawing:
    return make_drawing(_PRODUCTS[look_product.item_id]).transform(
        look_product.x, look_product.y, look_product.scale
    )
