"""Shopping patterns: bundles bought together, repeat purchases and tastes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JointPurchase:
    """Products bought for one purpose, each with the probability of being in the basket.

    `share` is the frequency of this bundle relative to the others.
    """

    season: str
    share: float
    item_probabilities: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class RepeatPurchase:
    """Consumables bought about every `every_days`, each with its own probability."""

    every_days: int
    share: float
    item_probabilities: tuple[tuple[str, float], ...]


def _bundle(season: str, share: float, *item_ids: str) -> JointPurchase:
    probabilities = (0.92, 0.68, 0.45, 0.3, 0.22)
    return JointPurchase(season, share, tuple(zip(item_ids, probabilities, strict=False)))


def _repeat_purchase(every_days: int, share: float, *item_ids: str) -> RepeatPurchase:
    probabilities = (0.97, 0.6, 0.35)
    return RepeatPurchase(
        every_days, share, tuple(zip(item_ids, probabilities, strict=False))
    )


BUNDLES = (
    _bundle(
        "summer",
        3.0,
        "ridge-tent-for-two",
        "steel-pegs-set-of-ten",
        "camp-lantern-rechargeable",
        "tent-footprint-two-person",
    ),
    _bundle(
        "summer", 1.5, "ridge-tent-for-four", "steel-pegs-set-of-ten", "camp-table-roll-up"
    ),
    _bundle("summer", 1.0, "tarp-3-x-3-m", "guy-lines-reflective", "peg-hammer"),
    _bundle(
        "summer",
        2.0,
        "down-sleeping-bag-three-seasons",
        "self-inflating-mat",
        "camp-pillow",
        "sleeping-bag-liner-silk",
    ),
    _bundle(
        "summer",
        2.5,
        "gas-stove-folding",
        "gas-cartridge-230-g",
        "cook-set-two-pots",
        "enamel-mug",
        "titanium-spork",
    ),
    _bundle(
        "summer",
        1.5,
        "rucksack-38-l",
        "dry-bag-20-l",
        "water-bottle-0-75-l",
        "water-filter",
    ),
    _bundle(
        "autumn",
        1.5,
        "walking-boots-brown",
        "walking-socks-two-pairs",
        "boot-grease-100-ml",
    ),
    _bundle("autumn", 1.2, "headlamp-350-lm", "aaa-batteries-eight"),
    _bundle(
        "even",
        3.5,
        "spaghetti-bronze-cut-500-g",
        "tomato-and-basil-sauce-400-g",
        "parmesan-aged-24-months-300-g",
    ),
    _bundle(
        "even",
        2.0,
        "rigatoni-500-g",
        "arrabbiata-sauce-400-g",
        "parmesan-aged-24-months-300-g",
    ),
    _bundle("even", 2.0, "orecchiette-500-g", "green-pesto-190-g", "anchovies-in-oil-80-g"),
    _bundle("winter", 1.2, "red-lentils-500-g", "basmati-rice-1-kg", "smoked-paprika-75-g"),
    _bundle(
        "summer",
        1.6,
        "olive-oil-extra-virgin-750-ml",
        "balsamic-vinegar-250-ml",
        "sea-salt-flakes-250-g",
    ),
    _bundle(
        "winter",
        2.0,
        "pour-over-dripper",
        "paper-filters-no-2-100",
        "filter-roast-ethiopia-250-g",
        "gooseneck-kettle-1-l",
    ),
    _bundle(
        "winter",
        1.4,
        "moka-pot-six-cups",
        "house-espresso-beans-1-kg",
        "espresso-cups-pair",
    ),
    _bundle(
        "winter",
        1.3,
        "teapot-1-1-l-stoneware",
        "tea-strainer",
        "earl-grey-loose-125-g",
        "oat-biscuits-200-g",
    ),
    _bundle(
        "autumn",
        2.0,
        "banneton-round-1-kg",
        "dough-scraper",
        "proofing-cloth-linen",
        "digital-scale-5-kg",
    ),
    _bundle(
        "gifts", 1.4, "chefs-knife-20-cm", "whetstone-1000-3000", "oak-chopping-board-large"
    ),
    _bundle("gifts", 1.0, "oak-chopping-board-large", "board-oil-250-ml"),
    _bundle(
        "autumn",
        1.4,
        "cast-iron-skillet-26-cm",
        "pan-scraper-pair",
        "splatter-screen-30-cm",
    ),
    _bundle("autumn", 0.9, "enamelled-casserole-4-5-l", "oven-gloves-pair", "trivet-cork"),
    _bundle(
        "spring",
        3.0,
        "tomato-seeds-rosa-di-berna",
        "peat-free-compost-20-l",
        "seed-tray-with-lid",
        "basil-seeds-genovese",
        "tomato-feed-1-l",
    ),
    _bundle(
        "spring", 2.2, "terracotta-pot-14-cm", "saucer-16-cm", "peat-free-compost-20-l"
    ),
    _bundle(
        "spring",
        2.0,
        "hand-trowel-ash-handle",
        "hand-fork-ash-handle",
        "gardening-gloves-m",
        "kneeling-pad",
    ),
    _bundle("spring", 1.0, "secateurs-bypass", "garden-twine-100-m", "gardening-gloves-m"),
    _bundle("winter", 1.6, "bird-feeder-seed", "bird-seed-2-kg", "fat-balls-20"),
    _bundle(
        "autumn",
        1.3,
        "tulip-bulbs-parrot-20",
        "daffodil-bulbs-25",
        "plant-labels-wooden-50",
    ),
    _bundle(
        "winter",
        2.2,
        "beeswax-candle-tall",
        "candlestick-brass",
        "long-matches-60",
        "wick-trimmer",
    ),
    _bundle(
        "autumn",
        1.8,
        "linen-cushion-50-cm-moss",
        "feather-cushion-pad-50-cm",
        "wool-throw-herringbone",
    ),
    _bundle("autumn", 1.2, "linen-cushion-50-cm-clay", "feather-cushion-pad-50-cm"),
    _bundle("autumn", 1.4, "desk-lamp-swing-arm", "led-bulb-e27-warm"),
    _bundle("autumn", 1.1, "table-lamp-stoneware", "led-bulb-e14-warm"),
    _bundle("even", 1.0, "jute-rug-120-x-180", "rug-underlay-120-x-180"),
    _bundle(
        "even",
        1.6,
        "dinner-plate-27-cm-sand",
        "side-plate-20-cm-sand",
        "pasta-bowl-23-cm-sand",
    ),
    _bundle(
        "even", 1.2, "dinner-plate-27-cm-ink", "side-plate-20-cm-ink", "napkins-linen-four"
    ),
    _bundle(
        "gifts", 1.3, "wine-glass-set-of-four", "corkscrew-waiters", "water-carafe-1-l"
    ),
    _bundle("even", 1.4, "olive-oil-soap-200-g", "soap-dish-larch", "natural-sponge"),
    _bundle("gifts", 0.9, "shaving-soap", "shaving-brush"),
    _bundle("even", 1.4, "bath-towel-moss", "hand-towel-moss", "bath-mat-waffle"),
    _bundle("even", 1.2, "bath-towel-white", "hand-towel-white", "face-cloths-four"),
    _bundle(
        "gifts",
        1.8,
        "fountain-pen-fine",
        "bottled-ink-blue-black-50-ml",
        "ink-converter",
        "notebook-a5-dotted",
    ),
    _bundle(
        "school",
        2.6,
        "school-exercise-books-ten",
        "pencils-hb-twelve",
        "brass-sharpener",
        "eraser-dust-free",
        "pencil-case-canvas",
    ),
    _bundle(
        "gifts",
        2.4,
        "wrapping-paper-three-rolls",
        "cotton-ribbon-10-m",
        "gift-tags-twenty",
        "christmas-cards-ten",
    ),
    _bundle("winter", 0.8, "letter-paper-and-envelopes", "sealing-wax-set"),
    _bundle("autumn", 1.2, "waxed-jacket", "reproofing-wax-200-ml"),
    _bundle("winter", 1.4, "lambswool-scarf-moss", "beanie-rust", "wool-gloves-fingerless"),
    _bundle("winter", 1.0, "fishermans-jumper-ink", "wool-comb-cedar", "darning-kit"),
    _bundle(
        "winter",
        1.4,
        "watercolour-set-twelve",
        "watercolour-paper-a4",
        "brushes-round-four",
    ),
    _bundle("gifts", 1.6, "wooden-train-set", "train-bridge", "building-blocks-60"),
    _bundle("winter", 0.9, "linocut-starter-set", "block-printing-ink-75-ml"),
    _bundle("winter", 1.2, "lambswool-yarn-100-g-moss", "knitting-needles-5-mm"),
    _bundle("winter", 1.2, "puzzle-1000-harbour", "puzzle-mat-felt"),
    _bundle("even", 1.0, "dog-bed-wool-felt", "dog-lead-rope", "rope-toy"),
)

REPEAT_PURCHASES = (
    _repeat_purchase(28, 3.0, "house-espresso-beans-1-kg"),
    _repeat_purchase(21, 2.0, "filter-roast-ethiopia-250-g", "paper-filters-no-2-100"),
    _repeat_purchase(45, 1.5, "breakfast-tea-loose-250-g", "oat-biscuits-200-g"),
    _repeat_purchase(
        24,
        2.5,
        "spaghetti-bronze-cut-500-g",
        "tomato-and-basil-sauce-400-g",
        "parmesan-aged-24-months-300-g",
    ),
    _repeat_purchase(20, 1.2, "muesli-toasted-750-g", "wildflower-honey-500-g"),
    _repeat_purchase(50, 1.0, "olive-oil-extra-virgin-750-ml", "black-peppercorns-100-g"),
    _repeat_purchase(30, 2.0, "dog-food-lamb-and-oat-6-kg", "dog-biscuits-500-g"),
    _repeat_purchase(
        26, 1.8, "cat-food-salmon-2-kg", "cat-litter-wood-10-l", "catnip-mouse"
    ),
    _repeat_purchase(60, 1.2, "hand-wash-refill-1-l", "olive-oil-soap-200-g"),
    _repeat_purchase(75, 0.8, "toothbrush-beech-four", "tooth-powder-60-g"),
    _repeat_purchase(35, 0.8, "bird-seed-2-kg", "fat-balls-20"),
    _repeat_purchase(55, 0.8, "beeswax-tealights-twelve", "long-matches-60"),
    _repeat_purchase(60, 0.6, "ink-cartridges-blue-twelve"),
)

# The frequency of each kind of shopper, and the preferred shelves, best first.
PERSONAS = (
    (16, ("pans", "baking", "sauces", "pasta", "knives", "linen")),
    (8, ("plates", "glasses", "cutlery", "linen", "candles")),
    (12, ("sleeping", "camp-kitchen", "tent-parts", "lights", "footwear", "tents")),
    (13, ("seeds", "garden-tools", "pots", "watering")),
    (13, ("textiles", "lamps", "keeping", "candles", "towels")),
    (9, ("pens", "notebooks", "desk", "cards")),
    (10, ("toys", "games", "crafts", "cards")),
    (10, ("knitwear", "jackets", "accessories", "footwear")),
    (9, ("coffee-gear", "coffee-tea", "sweets")),
    (6, ("soap", "care", "towels")),
    (6, ("pets", "keeping", "watering")),
)
