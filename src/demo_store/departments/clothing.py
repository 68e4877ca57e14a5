"""Clothing department: its shelves and products."""

from demo_store.assortment_types import Department, Shelf

KNITWEAR = """
Fisherman's jumper, ink | Fellside Mill | ink | 119.00
  Ribbed lambswool that blocks wind and questions.
Fisherman's jumper, oat | Fellside Mill | cream | 119.00
  The pale one, for optimists.
Cardigan, moss | Fellside Mill | moss | 109.00
  Horn buttons and pockets for a small library.
Cardigan, rust | Fellside Mill | rust | 109.00
  Autumn, buttoned.
Merino base layer | Tarn | charcoal | 69.00
  Warm when wet, fresh on day three.
Merino T-shirt, sand | Tarn | sand | 54.00
  Travels light and does not mind the hand basin.
Roll-neck, charcoal | Fellside Mill | charcoal | 98.00
  Architects have several.
Cable slipover | Fellside Mill | sand | 79.00
  Half a jumper for the whole of spring.
Darning kit | Fellside Mill | oak | 18.00
  A mushroom, three wools, two needles, ten more years.
Wool comb, cedar | Fellside Mill | oak | 14.00
  Takes off the pills, leaves the jumper.
"""

JACKETS = """
Waxed jacket | Tarn | moss | 229.00
  Keeps rain out and stories in; comes with a tin of wax.
Chore coat, ink | Weft | ink | 119.00
  Three pockets outside, one inside, none for show.
Chore coat, sand | Weft | sand | 119.00
  Gets better with paint on it.
Rain shell | Tarn | amber | 159.00
  Folds into its own pocket; visible in fog.
Quilted gilet | Tarn | charcoal | 99.00
  Warm middle, free arms.
Wool overshirt, check | Fellside Mill | red | 109.00
  A shirt, a jacket, a blanket with sleeves.
Linen shirt, white | Weft | white | 69.00
  Creased by lunch and right to be.
Linen shirt, sky | Weft | sky | 69.00
  The colour of the other side of the holiday.
Canvas trousers, sand | Weft | sand | 84.00
  Double knees for people who kneel.
Reproofing wax 200 ml | Tarn | amber | 13.90
  Warm it, rub it in, go outside.
"""

ACCESSORIES = """
Lambswool scarf, moss | Fellside Mill | moss | 44.00
  Long enough to go round twice.
Lambswool scarf, ink | Fellside Mill | ink | 44.00
  Brushed soft, fringed by hand.
Beanie, rust | Fellside Mill | rust | 29.00
  Deep rib, no bobble.
Beanie, charcoal | Fellside Mill | charcoal | 29.00
  With a fold, for ears.
Wool gloves, fingerless | Fellside Mill | sand | 26.00
  For market stalls and telephones.
Straw hat | Osier | straw | 38.00
  Shade you can carry.
Leather belt, brown | Kestrel | brown | 49.00
  One hide thick, brass buckle, seven holes.
Tote bag, canvas | Weft | flax | 24.00
  Carries a week of vegetables or all of the papers.
Shoulder bag, waxed | Tarn | moss | 119.00
  A laptop, a flask and a surprise.
Umbrella, ash handle | Osier | charcoal | 59.00
  Ten ribs; turns itself right way out.
"""

FOOTWEAR = """
Walking boots, brown | Fellside | brown | 179.00
  Resoled as often as you like.
Rubber boots, moss | Little Acre | moss | 64.00
  Puddles, then more puddles.
Garden clogs | Little Acre | sand | 42.00
  By the back door, always damp, never complaining.
Felt slippers, charcoal | Fellside Mill | charcoal | 49.00
  Wool felt on a leather sole.
Canvas shoes, white | Weft | white | 54.00
  White for about a day, good for years.
Walking socks, two pairs | Fellside Mill | moss | 24.00
  Cushioned where boots rub.
Everyday socks, five pairs | Fellside Mill | ink | 29.00
  All the same, so none is ever single.
Bed socks, cashmere blend | Fellside Mill | cream | 34.00
  For people who share a bed with someone's cold feet.
Boot grease 100 ml | Fellside | amber | 9.50
  Beeswax and lanolin; work it in with your thumbs.
Boot brush | Fellside | oak | 12.50
  Horsehair one side, stiff the other.
Spare laces, waxed | Fellside | brown | 5.50
  The day they are needed is never the day you are in town.
"""

DEPARTMENT = Department(
    "clothing",
    "Clothing",
    (
        Shelf("knitwear", "Knitwear", "winter", ("jumper", "cardigan"), KNITWEAR),
        Shelf("jackets", "Jackets and shirts", "autumn", ("jacket", "shirt"), JACKETS),
        Shelf("accessories", "Scarves and bags", "winter", ("scarf", "bag"), ACCESSORIES),
        Shelf("footwear", "Boots and socks", "autumn", ("boots", "socks"), FOOTWEAR),
    ),
)
