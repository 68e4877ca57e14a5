"""Bath department: its shelves and products."""

from demo_store.assortment_types import Department, Shelf

SOAP = """
Olive-oil soap 200 g | Saltmarsh | moss | 6.90
  Cured eight weeks; lasts as long as it looks.
Sea-kelp soap 120 g | Saltmarsh | sky | 6.50
  Smells of the far end of the beach.
Lavender soap 120 g | Saltmarsh | violet | 6.50
  One for the basin, one for the linen drawer.
Hand wash, bergamot 500 ml | Saltmarsh | amber | 16.50
  Clean hands, and a small holiday.
Hand wash refill 1 l | Saltmarsh | amber | 22.00
  Two bottles' worth in a quarter of the plastic.
Hand balm 75 ml | Saltmarsh | cream | 14.00
  For gardeners, bakers, and everybody in January.
Shampoo bar, rosemary | Saltmarsh | moss | 11.90
  Eighty washes and nothing to throw away.
Conditioner bar, oat | Saltmarsh | straw | 12.90
  Detangles; smells faintly of biscuits.
Bath salts, pine 500 g | Saltmarsh | moss | 13.50
  Forty minutes in the forest with a book.
Soap dish, larch | Saltmarsh | oak | 9.80
  Drains, so that the soap outlives the month.
Shaving soap | Saltmarsh | white | 12.50
  A slow thick lather for unhurried mornings.
Shaving brush | Saltmarsh | oak | 34.00
  Soft synthetic bristle on a turned handle.
"""

TOWELS = """
Bath towel, white | Weft | white | 29.00
  Six hundred grams of long-staple cotton.
Bath towel, moss | Weft | moss | 29.00
  The same towel in green.
Hand towel, white | Weft | white | 14.00
  Hangs well, dries better.
Hand towel, moss | Weft | moss | 14.00
  For guests, officially.
Hammam towel, striped | Weft | clay | 32.00
  Thin, huge, dry by lunchtime; loves a beach.
Bath mat, waffle | Weft | white | 26.00
  Cotton that drinks.
Dressing gown, linen | Weft | flax | 119.00
  Weekends, in garment form.
Face cloths, four | Weft | white | 12.00
  Small, soft, always the first in the wash.
"""

CARE = """
Toothbrush, beech, four | Saltmarsh | oak | 12.00
  Medium bristles, compostable handles.
Tooth powder 60 g | Saltmarsh | white | 9.80
  Mint and clay in a tin that lasts the quarter.
Body brush, long handle | Saltmarsh | oak | 24.00
  Reaches where you cannot.
Natural sponge | Saltmarsh | straw | 15.00
  Grown, gathered and rinsed by people who know it by name.
Body oil, almond 100 ml | Saltmarsh | amber | 19.00
  On damp skin, before the towel.
Lip balm tin | Saltmarsh | amber | 5.50
  Beeswax and honey; dinner for your lips.
Wash bag, waxed cotton | Tarn | moss | 38.00
  Stands open by itself, stays shut in the suitcase.
Comb, horn-effect | Saltmarsh | brown | 9.00
  Sawn teeth, rounded tips.
Laundry soap flakes 1 kg | Saltmarsh | white | 12.90
  For wool, silk and other tempers.
Stain stick | Saltmarsh | cream | 7.50
  Wine, grass, tomato: rub, wait, smile.
"""

DEPARTMENT = Department(
    "bath",
    "Bath",
    (
        Shelf("soap", "Soap and salts", "gifts", ("soap", "shampoo bar", "balm"), SOAP),
        Shelf("towels", "Towels", "even", ("towel", "bath mat"), TOWELS),
        Shelf("care", "Body and laundry", "even", ("toothbrush", "sponge"), CARE),
    ),
)
