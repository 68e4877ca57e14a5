"""Stationery department: its shelves and products."""

from demo_store.assortment_types import Department, Shelf

NOTEBOOKS = """
Notebook A5, dotted | Marlowe Paper | ink | 14.50
  Lies flat at every page, takes ink without ghosts.
Notebook A5, ruled | Marlowe Paper | moss | 14.50
  Seven-millimetre lines and a ribbon that does not fray.
Notebook A5, plain | Marlowe Paper | clay | 14.50
  For people who think in arrows.
Pocket notebooks, three | Marlowe Paper | sand | 9.90
  Shirt-pocket thin, stitched twice.
Sketchbook A4 | Marlowe Paper | charcoal | 19.50
  Heavy paper with just enough tooth.
Week planner | Marlowe Paper | rust | 22.00
  Undated, so that it starts when you do.
Wall calendar | Marlowe Paper | cream | 18.00
  Twelve woodcuts, one for each month's weather.
School exercise books, ten | Marlowe Paper | sky | 11.50
  Five ruled, five squared, all with room for a name.
Address book | Marlowe Paper | ink | 16.00
  Pencil recommended.
Music manuscript A4 | Marlowe Paper | cream | 9.50
  Twelve staves a page; the rest is up to you.
"""

PENS = """
Fountain pen, fine | Rook & Reed | ink | 48.00
  A steel nib with spring in it; writes as if it had been waiting.
Fountain pen, medium | Rook & Reed | moss | 48.00
  Wetter, rounder, more generous.
Bottled ink, blue-black 50 ml | Rook & Reed | ink | 13.90
  Dries to the colour of late evening.
Bottled ink, oxblood 50 ml | Rook & Reed | red | 13.90
  Corrections with dignity.
Bottled ink, moss 50 ml | Rook & Reed | moss | 13.90
  For letters about gardens.
Ink cartridges, blue, twelve | Rook & Reed | ink | 5.20
  Short standard size; a term's worth.
Ink converter | Rook & Reed | steel | 6.90
  Fits the fountain pens, frees you from cartridges.
Gel pens, five | Rook & Reed | charcoal | 11.90
  Half a millimetre, no skipping.
Pencils HB, twelve | Rook & Reed | amber | 8.90
  Cedar, centred leads, sharpened at the works.
Colour pencils, 24 | Rook & Reed | red | 26.00
  Soft, blendable, in a tin with a lid that shuts.
Brass sharpener | Rook & Reed | brass | 7.50
  Two holes and a blade you can change.
Eraser, dust-free | Rook & Reed | white | 2.40
  One long crumb instead of a hundred.
"""

DESK = """
Desk pad, felt | Northlight | charcoal | 39.00
  Warm under the wrist, quiet under the cup.
Pen cup, stoneware | Thistle Pottery | sand | 17.00
  Heavy enough not to tip.
Letter tray, oak | Ember & Oak | oak | 42.00
  Two of them make an in and an out.
Tape dispenser, cast iron | Northlight | charcoal | 29.00
  Stays put with one hand.
Paper clips, brass, 50 | Northlight | brass | 5.90
  Will not rust on your grandmother's letters.
Stapler, steel | Northlight | steel | 24.00
  Twenty sheets and a good noise.
Ruler 30 cm, brass | Northlight | brass | 14.00
  Zero begins at the edge, as it should.
Paper scissors | Kestrel | steel | 19.00
  Long blades for wrapping paper.
Pencil case, canvas | Marlowe Paper | moss | 16.50
  Brass zip, washable, room for a ruler cut short.
Bookends, pair | Northlight | charcoal | 32.00
  Bent steel with felt feet.
Desk tidy, oak | Ember & Oak | oak | 36.00
  Slots for cards, clips, a phone and its excuses.
"""

CARDS = """
Letter paper and envelopes | Marlowe Paper | cream | 21.00
  Twenty of each, laid, with a watermark to hold to the light.
Thank-you cards, eight | Marlowe Paper | clay | 12.50
  Letterpress, blank inside.
Birthday cards, six | Marlowe Paper | amber | 14.00
  Six different cakes.
Christmas cards, ten | Marlowe Paper | red | 15.50
  Linocut robins with gold only where needed.
Wrapping paper, three rolls | Marlowe Paper | moss | 12.90
  Thick enough to fold sharply, and it does not tear at the corner.
Gift tags, twenty | Marlowe Paper | sand | 5.50
  With string, already cut.
Cotton ribbon 10 m | Weft | red | 7.90
  Ties, unties, is kept for next year.
Sealing wax set | Rook & Reed | red | 24.00
  Three sticks, one acorn seal.
Washi tape, five | Marlowe Paper | sky | 11.00
  Sticks to walls politely.
Postcards, woodcut, twelve | Marlowe Paper | ink | 13.00
  A dozen landscapes that fit a stamp and a thought.
"""

DEPARTMENT = Department(
    "stationery",
    "Stationery",
    (
        Shelf("notebooks", "Notebooks", "school", ("notebook", "planner"), NOTEBOOKS),
        Shelf("pens", "Pens and ink", "school", ("fountain pen", "ink"), PENS),
        Shelf("desk", "On the desk", "school", ("desk", "stapler"), DESK),
        Shelf("cards", "Cards and wrapping", "gifts", ("card", "wrapping paper"), CARDS),
    ),
)
