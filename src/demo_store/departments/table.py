"""Table department: its shelves and products."""

from demo_store.assortment_types import Department, Shelf

PLATES = """
Dinner plate 27 cm, sand | Thistle Pottery | sand | 18.00
  Speckled stoneware with a rim that keeps gravy in its place.
Dinner plate 27 cm, ink | Thistle Pottery | ink | 18.00
  Everything looks better on dark blue, even toast.
Side plate 20 cm, sand | Thistle Pottery | sand | 13.00
  Cake, cheese, or a very small dinner.
Side plate 20 cm, ink | Thistle Pottery | ink | 13.00
  The small sister of the blue one.
Pasta bowl 23 cm, sand | Thistle Pottery | sand | 19.00
  Wide and low, for twirling.
Cereal bowl 15 cm, sand | Thistle Pottery | sand | 14.00
  Two hands fit around it on cold mornings.
Serving platter, oval | Thistle Pottery | cream | 39.00
  A whole fish, or a great many sandwiches.
Salad bowl, olive wood | Ember & Oak | oak | 58.00
  Cut from one piece; the grain is nobody's copy.
Mug, stoneware | Thistle Pottery | moss | 15.00
  Three hundred millilitres and a handle for three fingers.
Butter dish | Thistle Pottery | cream | 24.00
  Half a pound under a proper roof.
"""

GLASSES = """
Tumbler, set of four | Fen Glass | sky | 28.00
  Recycled glass with a bubble or two left in.
Wine glass, set of four | Fen Glass | white | 44.00
  Thin-lipped and dishwasher-proof, which took some doing.
Water carafe 1 l | Fen Glass | sky | 26.00
  A cork ball for a lid.
Preserving jars 0.5 l, six | Fen Glass | white | 22.00
  Rubber rings, wire clips, summer on a shelf.
Storage jar 1.5 l, cork | Fen Glass | white | 14.50
  See the pasta, seal the pasta.
Oil bottle with pourer | Fen Glass | moss | 16.00
  One thin thread of oil at a time.
Whisky tumbler, pair | Fen Glass | amber | 32.00
  Heavy in the base, quiet on the table.
Champagne saucer, pair | Fen Glass | white | 36.00
  For when flutes feel like Monday.
Swing-top bottle 1 l | Fen Glass | white | 9.80
  Cordial, kombucha, or just very cold water.
"""

CUTLERY = """
Cutlery set, 24 pieces | Kestrel | steel | 119.00
  Matt steel with weight in the right end.
Steak knives, four | Kestrel | oak | 72.00
  Oak handles, no teeth, clean cuts.
Salad servers, olive wood | Ember & Oak | oak | 24.00
  A pair that toss without bruising.
Cheese knife set | Kestrel | brass | 34.00
  One for hard, one for soft, one for the honest crumb.
Soup ladle | Kestrel | steel | 17.00
  Two ladles to a bowl.
Corkscrew, waiter's | Kestrel | oak | 22.00
  Two steps, no drama.
Nutcracker | Kestrel | steel | 19.00
  Cracks shells, spares kernels.
Tea spoons, six | Kestrel | brass | 26.00
  Small, golden and always missing one elsewhere.
"""

LINEN = """
Tablecloth, linen 150 x 250 | Weft | flax | 89.00
  Creases that look meant.
Napkins, linen, four | Weft | flax | 38.00
  Generous, and softer after every wash.
Napkins, linen, four, rust | Weft | rust | 38.00
  The ones tomato cannot harm.
Tea towels, three | Weft | ink | 24.00
  Waffle weave that really dries a glass.
Apron, washed canvas | Weft | moss | 42.00
  Crossed straps, no knot at the neck, one pocket for the thermometer.
Oven gloves, pair | Weft | charcoal | 22.00
  Thick to the wrist and beyond.
Table runner, jute | Weft | straw | 29.00
  Half dressed for dinner.
Placemats, felt, four | Weft | charcoal | 32.00
  Quiet plates, kind to tables.
Trivet, cork | Ember & Oak | sand | 9.90
  Takes the heat from any pan in the house.
"""

DEPARTMENT = Department(
    "table",
    "Table",
    (
        Shelf("plates", "Plates and bowls", "even", ("plate", "bowl", "mug"), PLATES),
        Shelf("glasses", "Glass and jars", "gifts", ("glass", "jar", "carafe"), GLASSES),
        Shelf("cutlery", "Cutlery", "gifts", ("cutlery", "corkscrew"), CUTLERY),
        Shelf("linen", "Table linen", "even", ("napkins", "apron", "tea towels"), LINEN),
    ),
)
