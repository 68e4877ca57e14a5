"""Play department: games, toys, crafts and pet products."""

from demo_store.assortment_types import Department, Shelf

GAMES = """
Board game, The Lighthouse | Moth & Marble | sky | 39.00
  Two to four keepers, one storm, forty minutes.
Board game, Market Day | Moth & Marble | amber | 34.00
  Buy turnips, sell rumours.
Card game, Foxes and Geese | Moth & Marble | rust | 14.50
  Learnt in a minute, argued about for years.
Chess set, folding | Moth & Marble | oak | 49.00
  Beech and walnut stain, felted feet.
Dominoes in a box | Moth & Marble | oak | 22.00
  Twenty-eight tiles and the sound of a cafe.
Puzzle 1000, harbour | Moth & Marble | sky | 21.00
  Too much sky, as there should be.
Puzzle 1000, orchard | Moth & Marble | moss | 21.00
  Four hundred shades of green.
Puzzle 500, night train | Moth & Marble | ink | 17.50
  One long evening with cocoa.
Puzzle mat, felt | Moth & Marble | charcoal | 24.00
  Rolls up unfinished business.
Dice, wooden, six | Moth & Marble | oak | 7.50
  Fair as far as we could tell.
"""

TOYS = """
Wooden train set | Pinewood Works | red | 59.00
  Thirty pieces of beech that fit every other railway in the house.
Train bridge | Pinewood Works | oak | 19.50
  Up, over, again.
Building blocks, 60 | Pinewood Works | oak | 36.00
  Solid maple corners, in a bag that is also a tent.
Stacking rings | Pinewood Works | amber | 17.00
  First lesson in order, second in knocking it down.
Pull-along duck | Pinewood Works | amber | 24.00
  Quacks by walking.
Rag doll, Ottilie | Moth & Marble | clay | 34.00
  Linen face, wool hair, opinions.
Teddy bear, mohair | Moth & Marble | brown | 49.00
  Jointed, growls if asked.
Kite, diamond | Tarn | red | 26.00
  Flies in what you would call no wind.
Skipping rope | Pinewood Works | red | 12.00
  Cotton, ash handles, endless.
Marbles, bag of 50 | Moth & Marble | sky | 9.50
  One shooter, forty-nine hopes.
"""

CRAFTS = """
Watercolour set, twelve | Rook & Reed | sky | 32.00
  Half pans in a tin that is also the palette.
Watercolour paper A4 | Marlowe Paper | white | 16.00
  Three hundred grams; takes a puddle without buckling.
Brushes, round, four | Rook & Reed | oak | 18.50
  Points that come back.
Modelling clay 1 kg | Thistle Pottery | clay | 11.50
  Dries in the air, takes paint.
Knitting needles 5 mm | Fellside Mill | oak | 11.00
  Birch, warm in the hand.
Lambswool yarn 100 g, moss | Fellside Mill | moss | 12.50
  Three balls for a scarf, ten for a promise.
Lambswool yarn 100 g, rust | Fellside Mill | rust | 12.50
  The same sheep, another mood.
Embroidery kit, wren | Weft | flax | 26.00
  Hoop, thread, needle, bird.
Linocut starter set | Rook & Reed | charcoal | 38.00
  Three blades, two blocks, one roller, black ink.
Block-printing ink 75 ml | Rook & Reed | ink | 11.00
  Water-based, so that the kitchen forgives you.
"""

PETS = """
Dog food, lamb and oat 6 kg | Good Hound | sand | 34.00
  Sixty per cent lamb; shiny coats, small bags to carry.
Dog biscuits 500 g | Good Hound | amber | 8.50
  Baked hard, broken easily, begged for loudly.
Dog lead, rope | Good Hound | rust | 28.00
  Climbing rope from the offcuts of climbing rope.
Dog bed, wool felt | Good Hound | charcoal | 79.00
  Washable, which you will be glad of.
Rope toy | Good Hound | sky | 9.90
  Tugs back.
Cat food, salmon 2 kg | Good Hound | sky | 19.50
  Approved by the one in the window.
Cat litter, wood 10 l | Good Hound | oak | 11.90
  Compressed fir; clumps, composts, smells of planks.
Cat scratcher, sisal | Good Hound | straw | 44.00
  Taller than the sofa is interesting.
Catnip mouse | Good Hound | charcoal | 6.50
  Lives under the dresser.
Feeding bowl, stoneware | Thistle Pottery | moss | 19.00
  Too heavy to be pushed across the kitchen at six.
"""

DEPARTMENT = Department(
    "play",
    "Play",
    (
        Shelf("games", "Games and puzzles", "gifts", ("board game", "puzzle"), GAMES),
        Shelf("toys", "Toys", "gifts", ("train", "teddy", "toy"), TOYS),
        Shelf("crafts", "Crafts", "winter", ("watercolour", "yarn"), CRAFTS),
        Shelf("pets", "Pets", "even", ("dog food", "cat food", "dog"), PETS),
    ),
)
