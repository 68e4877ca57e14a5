"""Garden department: its shelves and products."""

from demo_store.assortment_types import Department, Shelf

TOOLS = """
Hand trowel, ash handle | Little Acre | oak | 16.50
  Stainless, marked in centimetres, and it fits the hand like a handshake.
Hand fork, ash handle | Little Acre | oak | 16.50
  The trowel's partner; lifts dandelions whole.
Secateurs, bypass | Kestrel | red | 38.00
  Cuts to the thickness of a thumb; every part can be replaced.
Digging spade | Little Acre | steel | 54.00
  Forged, with treads that spare your boots.
Border fork | Little Acre | steel | 52.00
  Narrow enough to get between the peonies.
Dutch hoe | Little Acre | oak | 44.00
  Push, pull, and the weeds are yesterday's.
Leaf rake | Little Acre | moss | 29.00
  Twenty-two springy tines and a satisfying sound.
Gardening gloves, M | Little Acre | sand | 13.90
  Goatskin palms; thin enough for seedlings, thick enough for roses.
Kneeling pad | Little Acre | moss | 17.50
  Because the ground is further down than it was.
Garden twine 100 m | Little Acre | straw | 5.90
  Three-ply jute in a tin with its own cutter.
Pruning saw, folding | Kestrel | red | 32.00
  Cuts on the pull; apple boughs hardly notice.
"""

SEEDS = """
Tomato seeds, Rosa di Berna | Little Acre | red | 3.20
  Pink, thin-skinned, and never seen in a shop.
Basil seeds, Genovese | Little Acre | moss | 2.60
  Sow by the tomatoes, eat with the tomatoes.
Sweet-pea seeds, mixed | Little Acre | violet | 2.90
  Pick them and they come back for more.
Runner-bean seeds | Little Acre | red | 3.10
  Flowers first, then more beans than you have neighbours.
Carrot seeds, early | Little Acre | amber | 2.60
  Straight ones for show, crooked ones for soup.
Lettuce seeds, cut and come again | Little Acre | moss | 2.60
  Salad every ten days until the frost.
Wildflower mix 20 m2 | Little Acre | violet | 7.90
  Twenty-four kinds; bees find it before you do.
Sunflower seeds, tall | Little Acre | amber | 2.80
  Three metres by August if the snails agree.
Tulip bulbs, parrot, 20 | Little Acre | red | 12.90
  Plant in November, forget, be astonished.
Daffodil bulbs, 25 | Little Acre | amber | 11.50
  They multiply while you are not looking.
Seed potatoes 1 kg | Little Acre | sand | 6.80
  Waxy, early, best with butter and nothing else.
"""

POTS = """
Terracotta pot 14 cm | Thistle Pottery | clay | 4.90
  Frost-proof and slightly crooked, as hand-thrown things are.
Terracotta pot 24 cm | Thistle Pottery | clay | 12.90
  For one tomato or a respectable rosemary.
Saucer 16 cm | Thistle Pottery | clay | 3.50
  Saves the windowsill.
Seed tray with lid | Little Acre | charcoal | 9.90
  Twenty-four cells and a roof; spring begins in February.
Peat-free compost 20 l | Little Acre | brown | 8.90
  Bark, coir and green waste, sieved fine for seedlings.
Plant labels, wooden, 50 | Little Acre | oak | 5.50
  Because you will not remember.
Zinc planter | Osier | steel | 34.00
  Goes grey in the rain and better for it.
Window box 60 cm | Osier | moss | 29.00
  Herbs at arm's length from the stove.
Tomato feed 1 l | Little Acre | red | 8.50
  Seaweed and potash, a capful a week.
Growing frame, oak | Little Acre | oak | 139.00
  A small glasshouse for impatient people.
"""

WATERING = """
Watering can 9 l | Osier | moss | 39.00
  Galvanised, long-necked, with a brass rose that rains upwards.
Indoor watering can 1 l | Osier | brass | 27.00
  A spout thin enough for succulents.
Garden hose 25 m | Osier | moss | 49.00
  Does not kink, and means it.
Hose nozzle, brass | Osier | brass | 18.00
  Mist to jet in one turn.
Rain gauge | Osier | brass | 15.50
  So that you can be exact about the weather.
Bird feeder, seed | Little Acre | steel | 23.00
  Four perches; the squirrel has tried.
Bird seed 2 kg | Little Acre | straw | 9.80
  No wheat, no waste, no sprouting.
Fat balls, 20 | Little Acre | sand | 8.40
  For frosty mornings and busy tits.
Nest box, 32 mm | Little Acre | oak | 28.00
  Larch, and a front that opens for cleaning.
Bee hotel | Little Acre | oak | 26.00
  Bored smooth inside; check-in from March.
"""

DEPARTMENT = Department(
    "garden",
    "Garden",
    (
        Shelf("garden-tools", "Garden tools", "spring", ("trowel", "secateurs"), TOOLS),
        Shelf("seeds", "Seeds and bulbs", "spring", ("seeds", "bulbs"), SEEDS),
        Shelf("pots", "Pots and soil", "spring", ("pot", "compost", "planter"), POTS),
        Shelf(
            "watering", "Water and birds", "summer", ("watering can", "feeder"), WATERING
        ),
    ),
)
