"""Kitchen department: its shelves and products."""

from demo_store.assortment_types import Department, Shelf

PANS = """
Cast-iron skillet 26 cm | Ember & Oak | charcoal | 49.90
  Pre-seasoned and heavy, it sears like a forge and gets better every year you own it.
Enamelled casserole 4.5 l | Ember & Oak | rust | 129.00
  Braises all Sunday afternoon and goes from stove to table without changing its clothes.
Carbon-steel wok 32 cm | Ember & Oak | charcoal | 44.50
  Thin, quick and happy over the highest flame you can give it.
Saucepan 1.8 l with lid | Halden | steel | 59.00
  Three layers of steel, one drip-free rim, and markings inside so you can skip the jug.
Stockpot 8 l | Halden | steel | 79.00
  Room for two chickens or for soup that lasts until Thursday.
Milk pan 1 l | Halden | cream | 27.50
  Small, with a lip on both sides: cocoa for the left-handed as well.
Non-stick frying pan 28 cm | Halden | charcoal | 42.00
  Ceramic coated; an omelette slides off it as if it had somewhere to be.
Griddle pan, square | Ember & Oak | charcoal | 46.00
  Proper ridges, proper stripes, in the middle of winter.
Splatter screen 30 cm | Halden | steel | 12.90
  Fine mesh that keeps the bacon in the pan and off the wall.
Pan scraper pair | Ember & Oak | sand | 6.90
  Two stiff corners for everything a sponge gives up on.
"""

KNIVES = """
Chef's knife 20 cm | Kestrel | steel | 89.00
  Forged in one piece, balanced at the bolster, sharp enough to be respectful of.
Paring knife 9 cm | Kestrel | steel | 29.00
  The one you will reach for most and lend least.
Bread knife 24 cm | Kestrel | steel | 54.00
  Long teeth for long loaves; crumbs stay mostly where they belong.
Santoku 17 cm | Kestrel | steel | 79.00
  Hollows in the blade let the cucumber go.
Whetstone 1000/3000 | Kestrel | sand | 38.50
  Two sides, ten minutes, and every knife in the drawer is new again.
Oak chopping board, large | Ember & Oak | oak | 47.00
  End grain that heals itself, with a groove for the juice of a roast.
Beech chopping board, small | Ember & Oak | oak | 19.90
  For one onion, one lemon, or breakfast.
Magnetic knife rail 45 cm | Kestrel | oak | 39.00
  Walnut-dark oak with magnets you can trust over a toddler's head.
Board oil 250 ml | Ember & Oak | amber | 11.90
  Food-safe linseed and beeswax; a spoonful a month keeps boards from splitting.
Kitchen shears | Kestrel | steel | 24.00
  They come apart for washing and go through a chicken's back without comment.
"""

BAKING = """
Loaf tin 1 kg | Millstone | charcoal | 18.50
  Tall sides for sandwiches, folded corners for no leaks.
Banneton, round 1 kg | Millstone | straw | 21.00
  Rattan rings that print themselves on your sourdough.
Dough scraper | Millstone | steel | 7.50
  Cuts, lifts, cleans the counter; the cheapest good tool in baking.
Springform tin 24 cm | Millstone | charcoal | 22.00
  A clasp that holds, and a base flat enough to serve from.
Rolling pin, beech | Millstone | oak | 16.90
  No handles, no bearings: you feel the pastry through it.
Mixing bowls, set of three | Halden | cream | 34.00
  They nest, they pour, and the biggest takes a kilo of flour.
Digital scale 5 kg | Halden | white | 29.90
  One gram steps, a flat glass top, and a display you can read past the bowl.
Muffin tray, twelve | Millstone | charcoal | 19.50
  Heavy steel, so that the outer ones bake like the inner ones.
Silicone spatula | Halden | clay | 8.90
  Gets the last spoonful out, which was going to be yours anyway.
Proofing cloth, linen | Millstone | flax | 14.00
  Undyed linen that flour clings to and dough does not.
Icing set, eight nozzles | Millstone | steel | 17.50
  Stars, leaves, petals and one for signing your name.
"""

COFFEE_GEAR = """
Pour-over dripper | Quarter Past | white | 22.00
  Porcelain with deep spiral ribs; three minutes that are yours.
Paper filters no. 2, 100 | Quarter Past | white | 4.90
  Oxygen-bleached and rinsed, they taste of nothing at all.
Hand grinder | Quarter Past | steel | 74.00
  Steel burrs, thirty turns, and the whole kitchen smells right.
Gooseneck kettle 1 l | Quarter Past | charcoal | 64.00
  A thin slow stream that goes exactly where you point it.
French press 0.8 l | Quarter Past | steel | 39.00
  Double walled, so that the second cup is still coffee.
Moka pot, six cups | Quarter Past | steel | 32.00
  Eight sides, one gasket, and the sound of a morning.
Teapot 1.1 l, stoneware | Thistle Pottery | moss | 38.00
  Pours without dripping, which took the potter eleven tries.
Tea strainer | Thistle Pottery | brass | 9.50
  Rests on any cup and keeps its own drip dish.
Milk frother | Quarter Past | white | 26.00
  Cold foam, hot foam, and a click that means it is done.
Cold-brew bottle 1 l | Quarter Past | sky | 24.50
  Grounds in at night, coffee out at noon.
Espresso cups, pair | Thistle Pottery | ink | 21.00
  Thick walls and a small foot; they keep sixty millilitres honest.
"""

DEPARTMENT = Department(
    "kitchen",
    "Kitchen",
    (
        Shelf("pans", "Pans and pots", "autumn", ("frying pan", "skillet", "pot"), PANS),
        Shelf("knives", "Knives and boards", "gifts", ("knife", "chopping board"), KNIVES),
        Shelf("baking", "Baking", "autumn", ("baking tin", "sourdough", "bowl"), BAKING),
        Shelf(
            "coffee-gear",
            "Coffee and tea gear",
            "winter",
            ("dripper", "teapot"),
            COFFEE_GEAR,
        ),
    ),
)
