"""Pantry department: its shelves and products, most of them bought repeatedly."""

from demo_store.assortment_types import Department, Shelf

PASTA = """
Spaghetti, bronze-cut 500 g | Casa Berta | straw | 3.20
  Rough enough for the sauce to hold on to, slow-dried for two days.
Rigatoni 500 g | Casa Berta | straw | 3.20
  Wide tubes that fill themselves with ragù.
Orecchiette 500 g | Casa Berta | straw | 3.60
  Little ears, each with a thumbprint, made for greens and garlic.
Egg tagliatelle 250 g | Casa Berta | amber | 4.10
  Seven yolks to the kilo; they cook while you set the table.
Wholegrain penne 500 g | Casa Berta | sand | 3.40
  Nutty, with bite, and nobody will call it healthy to your face.
Risotto rice 1 kg | Casa Berta | cream | 6.50
  Carnaroli, which forgives you for answering the door.
Red lentils 500 g | Field & Furrow | rust | 3.10
  Fifteen minutes from packet to supper.
Chickpeas, dried 1 kg | Field & Furrow | sand | 4.40
  Soak them tonight, thank yourself tomorrow.
Basmati rice 1 kg | Field & Furrow | white | 5.20
  Aged a year, so that each grain stands alone.
Polenta, stone-ground 500 g | Field & Furrow | amber | 3.90
  Coarse, golden, and worth the forty minutes.
"""

SAUCES = """
Tomato and basil sauce 400 g | Casa Berta | red | 4.20
  Tomatoes, basil, oil, salt. The list ends there.
Arrabbiata sauce 400 g | Casa Berta | red | 4.40
  Angry, as the name says, but it gets over it.
Green pesto 190 g | Casa Berta | moss | 5.60
  Ligurian basil and enough pine nuts to find them.
Olive oil, extra virgin 750 ml | Casa Berta | moss | 14.90
  Pressed in November, peppery at the back of the throat.
Balsamic vinegar 250 ml | Casa Berta | charcoal | 12.50
  Eight years in chestnut and cherry wood.
Wholegrain mustard 200 g | Field & Furrow | amber | 3.80
  Seeds that pop; good with sausages, better in a dressing.
Sea-salt flakes 250 g | Saltmarsh | white | 5.90
  Thin pyramids that crush between two fingers.
Black peppercorns 100 g | Field & Furrow | charcoal | 4.90
  Malabar berries, hot first and then floral.
Smoked paprika 75 g | Field & Furrow | rust | 4.50
  Dried over oak smoke; a teaspoon changes a stew.
Anchovies in oil 80 g | Casa Berta | sand | 5.20
  They melt into the pan and nobody guesses.
Parmesan, aged 24 months 300 g | Casa Berta | straw | 9.80
  Cut from the wheel, with crystals that crunch.
"""

COFFEE_TEA = """
House espresso beans 1 kg | Quarter Past | charcoal | 21.90
  Chocolate and hazelnut, roasted on Tuesdays.
Filter roast, Ethiopia 250 g | Quarter Past | amber | 11.50
  Jasmine and apricot; drink it black at least once.
Decaf beans 250 g | Quarter Past | sand | 10.90
  Washed with water only, for the cup after dinner.
Breakfast tea, loose 250 g | Thistle Pottery | rust | 8.90
  Strong enough to trot a mouse on, as the blender's aunt says.
Earl Grey, loose 125 g | Thistle Pottery | ink | 7.90
  Real bergamot oil and a few cornflowers for show.
Sencha 100 g | Thistle Pottery | moss | 9.80
  First picking; seventy degrees, one minute.
Peppermint leaves 75 g | Thistle Pottery | moss | 5.50
  Whole leaves that unfurl in the cup.
Rooibos and orange 100 g | Thistle Pottery | clay | 5.90
  No caffeine, plenty of sunshine.
Drinking chocolate 70 % 300 g | Quarter Past | brown | 8.50
  Flakes of chocolate, not powder; whisk and wait.
Oat biscuits 200 g | Field & Furrow | straw | 4.20
  Butter, oats, syrup; they dunk for four seconds.
"""

SWEETS = """
Wildflower honey 500 g | Little Acre | amber | 8.90
  From nine hives behind the nursery; set in winter, runny by June.
Raspberry jam 340 g | Little Acre | red | 5.40
  More fruit than sugar, and seeds to prove it.
Bitter orange marmalade 340 g | Little Acre | amber | 5.60
  Thick-cut, for toast that can take it.
Dark chocolate 72 % 100 g | Quarter Past | brown | 4.20
  Stone-ground from Piura beans, with a clean snap.
Milk chocolate and sea salt 100 g | Quarter Past | brown | 4.20
  Gone before you have found somewhere to put the wrapper.
Almond nougat 150 g | Casa Berta | cream | 6.90
  Soft, with whole almonds and a little lemon peel.
Cantuccini 250 g | Casa Berta | straw | 5.80
  Twice baked, once dipped.
Liquorice, salted 150 g | Field & Furrow | charcoal | 4.60
  You know who you are.
Fruit jellies, tin 200 g | Field & Furrow | violet | 7.90
  Quince, blackcurrant, pear; a tin you will keep for buttons.
Muesli, toasted 750 g | Field & Furrow | sand | 7.20
  Big oat flakes, hazelnuts, and not a raisin in sight.
"""

DEPARTMENT = Department(
    "pantry",
    "Pantry",
    (
        Shelf("pasta", "Pasta and grains", "even", ("pasta", "rice", "lentils"), PASTA),
        Shelf("sauces", "Sauces and spices", "even", ("sauce", "olive oil"), SAUCES),
        Shelf(
            "coffee-tea", "Coffee and tea", "winter", ("coffee beans", "tea"), COFFEE_TEA
        ),
        Shelf("sweets", "Sweet things", "gifts", ("chocolate", "honey", "jam"), SWEETS),
    ),
)
