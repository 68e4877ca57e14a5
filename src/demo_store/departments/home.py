"""Home department: its shelves and products."""

from demo_store.assortment_types import Department, Shelf

CANDLES = """
Beeswax candle, tall | Hearth & Hollow | amber | 9.80
  Burns eleven hours and smells of the hive.
Beeswax tealights, twelve | Hearth & Hollow | amber | 11.50
  Clear cups, so the whole of each one glows.
Scented candle, fig leaf | Hearth & Hollow | moss | 26.00
  Green, milky, like shade in August.
Scented candle, cedar and smoke | Hearth & Hollow | charcoal | 26.00
  A cabin, without the drive.
Dinner candles, ivory, six | Hearth & Hollow | cream | 13.50
  Slow, straight, and they do not drip on the good cloth.
Candlestick, brass | Hearth & Hollow | brass | 24.00
  Heavy foot, thin neck; polish it or do not.
Candlestick, stoneware | Thistle Pottery | ink | 21.00
  Glazed by hand, so no two agree on the blue.
Wick trimmer | Hearth & Hollow | brass | 15.90
  Short wicks, no soot.
Long matches, 60 | Hearth & Hollow | red | 6.20
  For wicks at the bottom of things.
Candle snuffer | Hearth & Hollow | brass | 13.00
  A small ceremony for the end of the evening.
Storm lantern, glass | Hearth & Hollow | charcoal | 34.00
  One pillar candle, any weather.
"""

TEXTILES = """
Linen cushion 50 cm, moss | Weft | moss | 36.00
  Washed linen that is soft on the first day.
Linen cushion 50 cm, clay | Weft | clay | 36.00
  The warm one; goes with oak and with cats.
Linen cushion 50 cm, ink | Weft | ink | 36.00
  Nearly black until the sun comes round.
Velvet cushion 40 cm, rust | Weft | rust | 42.00
  Short pile, deep colour, hidden zip.
Feather cushion pad 50 cm | Weft | white | 18.00
  Plumps with one slap.
Wool throw, herringbone | Fellside Mill | sand | 98.00
  Spun and woven within eleven miles; big enough for two.
Wool throw, tartan | Fellside Mill | red | 98.00
  A picnic, a sofa, a train: it has seen them all.
Cotton quilt, double | Weft | cream | 139.00
  Hand-tied, light for July, layered for January.
Jute rug 120 x 180 | Weft | straw | 119.00
  Braided flat; it does not mind boots.
Wool rug 80 x 150, striped | Weft | ink | 149.00
  Reversible, so it forgives red wine once.
Rug underlay 120 x 180 | Weft | white | 24.00
  Keeps the rug where you left it.
Linen curtain, pair | Weft | flax | 119.00
  Lets the morning in, keeps the street out.
"""

LAMPS = """
Desk lamp, swing arm | Northlight | charcoal | 89.00
  Stays exactly where you put it, at any angle.
Table lamp, stoneware | Northlight | cream | 74.00
  A round foot, a linen shade, a good corner for reading.
Floor lamp, oak | Northlight | oak | 159.00
  Three legs and a shade wide enough for two books.
Pendant, woven | Osier | straw | 84.00
  Throws the forest on your ceiling.
Night light, mushroom | Northlight | cream | 29.00
  Warm, dim, and it can be carried to the bathroom.
LED bulb E27, warm | Northlight | white | 7.90
  Eight watts, dims to candlelight.
LED bulb E14, warm | Northlight | white | 6.90
  The small thread, the same warm white.
Fabric cable 3 m | Northlight | moss | 17.50
  Plaited cotton over copper; half of the lamp's charm.
Wall clock, silent | Northlight | oak | 49.00
  Sweeps without ticking; good for light sleepers.
String lights 10 m | Northlight | amber | 24.90
  A hundred warm points on copper wire.
"""

KEEPING = """
Log basket, willow | Osier | straw | 64.00
  Holds an evening's worth and both of its handles.
Laundry basket, lidded | Osier | straw | 58.00
  Lined with cotton that comes out for washing.
Storage crate, oak | Osier | oak | 34.00
  Stacks with its brothers; toys, apples, records.
Felt basket, small | Osier | charcoal | 19.00
  For keys, gloves, and what has no other place.
Coat hooks, five | Ember & Oak | oak | 44.00
  Turned pegs on one long board.
Shoe rack | Ember & Oak | oak | 69.00
  Two shelves and no wobble.
Mirror, round 50 cm | Northlight | brass | 89.00
  A thin brass rim, and it makes the hall twice as long.
Vase, tall | Thistle Pottery | sky | 32.00
  For branches in February and dahlias in September.
Vase, bud | Thistle Pottery | clay | 14.00
  One stem is plenty.
Picture frame A4, oak | Northlight | oak | 22.00
  Real glass, real corners.
Doormat, coir | Osier | straw | 26.00
  Takes off mud by the kilo.
"""

DEPARTMENT = Department(
    "home",
    "Home",
    (
        Shelf("candles", "Candles", "winter", ("candle", "lantern", "tealights"), CANDLES),
        Shelf("textiles", "Cushions and rugs", "autumn", ("cushion", "rug"), TEXTILES),
        Shelf("lamps", "Lamps and clocks", "autumn", ("lamp", "bulb"), LAMPS),
        Shelf("keeping", "Baskets and keeping", "even", ("basket", "vase"), KEEPING),
    ),
)
