"""Outdoor department: its shelves and products."""

from demo_store.assortment_types import Department, Shelf

TENTS = """
Ridge tent for two | Tarn | moss | 189.00
  Up in six minutes, two doors, and quiet in the wind.
Ridge tent for four | Tarn | moss | 289.00
  A bedroom, a porch for the boots, and headroom to put on trousers.
Solo trekking tent | Tarn | sand | 219.00
  Nine hundred and eighty grams and it still keeps the rain out.
Tarp 3 x 3 m | Tarn | moss | 69.00
  Nineteen loops: a roof, a lean-to, a windbreak, a kitchen.
"""

TENT_PARTS = """
Steel pegs, set of ten | Tarn | steel | 12.90
  Y-shaped, for ground that argues.
Sand pegs, set of six | Tarn | steel | 14.90
  Broad blades for beaches and snow.
Guy lines, reflective | Tarn | amber | 9.90
  Four times four metres that shine back at your torch at midnight.
Peg hammer | Fellside | rust | 15.90
  With a hook on the other end for Sunday morning.
Tent footprint, two-person | Tarn | charcoal | 34.00
  Takes the thorns so that your tent does not.
Seam sealer 60 ml | Fellside | white | 8.90
  For the one stitch that drips on your forehead.
"""

SLEEPING = """
Down sleeping bag, three seasons | Fellside | ink | 199.00
  Comfortable to two below, packs to the size of a loaf.
Summer sleeping bag | Fellside | sky | 69.00
  Light, soft, and it opens out into a blanket.
Self-inflating mat | Fellside | rust | 64.00
  Open the valve, make tea, lie down.
Foam mat, folding | Fellside | moss | 24.90
  Cannot leak, cannot fail, doubles as a seat.
Camp pillow | Fellside | sand | 19.90
  Half air, half down, all the difference.
Hammock with straps | Tarn | clay | 54.00
  Two trees and the afternoon is taken care of.
Sleeping-bag liner, silk | Fellside | cream | 49.00
  Adds four degrees and saves a wash.
Bivvy bag | Tarn | moss | 119.00
  For people who find tents too indoors.
Travel blanket, fleece | Fellside | ink | 27.00
  Lives in the car, gets used every week.
"""

CAMP_KITCHEN = """
Gas stove, folding | Fellside | steel | 39.00
  Palm-sized, boils a litre in under four minutes.
Gas cartridge 230 g | Fellside | sky | 6.50
  A weekend for two, or a week of tea for one.
Cook set, two pots | Fellside | steel | 44.00
  Nested with a lid that strains pasta.
Enamel mug | Tarn | white | 9.50
  Chips become character.
Titanium spork | Tarn | steel | 12.00
  Eighteen grams of getting on with it.
Folding kettle | Fellside | clay | 29.00
  Silicone sides, steel base, flat as a book.
Fire steel | Tarn | charcoal | 14.50
  Twelve thousand strikes, wet or dry.
Vacuum flask 1 l | Tarn | moss | 36.00
  Tea at seven, still tea at five.
Water bottle 0.75 l | Tarn | sky | 22.00
  Steel, one wall, safe to put on the fire.
Water filter | Fellside | white | 48.00
  Drinks from streams so that you may.
Camp table, roll-up | Tarn | oak | 59.00
  Beech slats on four legs; level where the ground is not.
"""

LIGHTS = """
Camp lantern, rechargeable | Tarn | amber | 42.00
  Warm light for thirty hours, and a hook on both ends.
Headlamp 350 lm | Tarn | charcoal | 34.90
  Red light for map readers, white for the lost key.
Pocket torch | Tarn | steel | 24.00
  One button, because it is dark.
AAA batteries, eight | Tarn | charcoal | 7.90
  Rechargeable, five hundred times.
First-aid kit | Fellside | red | 26.00
  Plasters on top, where they are needed.
Pocket knife, three tools | Kestrel | oak | 45.00
  A blade, a saw, and the corkscrew that makes friends.
Compass | Fellside | amber | 21.00
  Still works when the phone does not.
Dry bag 20 l | Tarn | sky | 18.50
  Three turns and a click; the jumper stays dry.
Rucksack 38 l | Tarn | moss | 129.00
  A weekend on your hips instead of your shoulders.
Day pack 18 l | Tarn | rust | 59.00
  Lunch, layers, and a pocket your hand finds by itself.
Trekking poles, pair | Fellside | steel | 74.00
  Cork grips; your knees will write to thank you.
"""

DEPARTMENT = Department(
    "outdoor",
    "Outdoor",
    (
        Shelf("tents", "Tents and tarps", "summer", ("tent", "tarp"), TENTS),
        Shelf(
            "tent-parts", "Tent accessories", "summer", ("pegs", "guy lines"), TENT_PARTS
        ),
        Shelf("sleeping", "Sleeping outside", "summer", ("sleeping bag", "mat"), SLEEPING),
        Shelf("camp-kitchen", "Camp kitchen", "summer", ("stove", "flask"), CAMP_KITCHEN),
        Shelf("lights", "Lights and packs", "summer", ("lantern", "rucksack"), LIGHTS),
    ),
)
