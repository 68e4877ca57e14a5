"""Item schema: read exactly as the contract says; errors have a location."""

import math

import pytest

from productrecs.records.catalog.availability import Availability
from productrecs.records.catalog.item import FIELD_DEFAULTS, ItemPatch, PackedItemPatch
from productrecs.schemas.items import (
    ItemsPush,
    TooManyItemsError,
    parse_item,
    parse_item_row,
    parse_items,
)
from productrecs.schemas.strict_json import parse_json
from productrecs.schemas.validation_errors import InvalidInputError, validation_error_body
from tests.http.hostile import (
    INTEGERS,
    MISSHAPEN,
    NOT_INTEGERS,
    NOT_PRICES,
    PRICES,
    priced,
    stocked,
)


def _push(*items: object) -> list[ItemPatch]:
    return parse_items({"items": list(items)})


def _field(name: str, value: object) -> object:
    """Return what a push of `value` under `name` stores."""
    (patch,) = _push({"id": "a", name: value})
    return patch.fields[name]


def _refused(body: object) -> list[tuple[tuple[str | int, ...], str]]:
    """Return where and by which type each problem of `body` was found."""
    with pytest.raises(InvalidInputError) as refused:
        parse_items(body)
    assert len(validation_error_body(refused.value.problems)) <= 64 * 1024
    return [(problem.loc, problem.type) for problem in refused.value.problems]


def test_a_full_item_is_read_field_by_field() -> None:
    item = {
        "id": "sku-1",
        "sku": "X 1",
        "title": "Tält för två",
        "product_url": "https://shop.example/p/1",
        "image_url": "/i/1.jpg",
        "price": "19.90",
        "availability": "https://schema.org/PreOrder",
        "stock_qty": 2.0,
        "cost": 7,
        "categories": ["Tents", "Outdoor > Tents"],
        "category_ids": [12, "t"],
        "description": "Light.\nDry.",
        "available_from": "20260301",
        "available_until": "2026-09-30T12:00:00+02:00",
        "colour": "red",
    }

    (patch,) = _push(item)

    assert patch.item_id == "sku-1"
    assert patch.fields == {
        "sku": "X 1",
        "title": "Tält för två",
        "product_url": "https://shop.example/p/1",
        "image_url": "/i/1.jpg",
        "price": 19.9,
        "availability": Availability.PREORDER,
        "stock_qty": 2,
        "cost": 7.0,
        "categories": ("Tents", "Outdoor > Tents"),
        "category_ids": ("12", "t"),
        "description": "Light.\nDry.",
        "available_from": "2026-03-01",
        "available_until": "2026-09-30T12:00:00+02:00",
    }


def test_absent_fields_stay_absent() -> None:
    assert _push({"id": "a"}) == [ItemPatch("a", {})]


def test_null_returns_every_field_to_its_default() -> None:
    (patch,) = _push({"id": "a", **dict.fromkeys(FIELD_DEFAULTS)})

    assert patch.fields == FIELD_DEFAULTS


def test_items_keep_their_order_and_repeats() -> None:
    patches = _push({"id": "b"}, {"id": "a", "price": 1}, {"id": "b", "price": 2})

    assert [patch.item_id for patch in patches] == ["b", "a", "b"]


def test_an_empty_push_is_no_item() -> None:
    assert _push() == []


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("a", "a"),
        (" ", " "),
        ("a/b?c#d", "a/b?c#d"),
        ("x" * 255, "x" * 255),
        ("\U0001f600" * 255, "\U0001f600" * 255),
        (7, "7"),
        (0, "0"),
        (-7, "-7"),
        (2.0, "2"),
        (2**53, "9007199254740992"),
    ],
)
def test_ids_are_strings_of_1_to_255_characters_or_integers(
    sent: object, read: str
) -> None:
    assert _push({"id": sent}) == [ItemPatch(read, {})]


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        ("", "string_too_short"),
        ("x" * 256, "string_too_long"),
        ("\U0001f600" * 256, "string_too_long"),
        ("a\0b", "string_nul"),
        ("a\ud800b", "string_unicode"),
        (None, "identifier_type"),
        (True, "identifier_type"),
        (["a"], "identifier_type"),
        (2.5, "int_from_float"),
        (2**53 + 1, "integer_out_of_range"),
        (-(2**53) - 1, "integer_out_of_range"),
        (10**400, "integer_out_of_range"),
        (math.nan, "integer_out_of_range"),
        (math.inf, "integer_out_of_range"),
        (1e300, "integer_out_of_range"),
    ],
)
def test_anything_else_is_no_id(sent: object, kind: str) -> None:
    assert _refused({"items": [{"id": sent}]}) == [(("body", "items", 0, "id"), kind)]


@pytest.mark.parametrize("literal", PRICES)
def test_prices_are_numbers_and_numeric_strings(literal: str) -> None:
    (patch,) = parse_items(parse_json(priced(literal)))

    assert patch.fields["price"] == PRICES[literal]


@pytest.mark.parametrize("literal", NOT_PRICES, ids=lambda literal: literal[:20])
def test_other_literals_are_no_price(literal: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_items(parse_json(priced(literal)))


@pytest.mark.parametrize("literal", INTEGERS)
def test_stocks_are_integers_2_0_and_numeric_strings(literal: str) -> None:
    (patch,) = parse_items(parse_json(stocked(literal)))

    assert patch.fields["stock_qty"] == INTEGERS[literal]
    assert type(patch.fields["stock_qty"]) is not float


@pytest.mark.parametrize("literal", NOT_INTEGERS, ids=lambda literal: literal[:20])
def test_other_literals_are_no_stock(literal: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_items(parse_json(stocked(literal)))


def test_the_tables_hold_the_sixty_literals_that_were_promised() -> None:
    assert len(PRICES) + len(NOT_PRICES) >= 60


@pytest.mark.parametrize(
    ("name", "most"),
    [("title", 1_000), ("description", 64_000), ("sku", 255), ("product_url", 8_192)],
)
def test_texts_have_a_greatest_length(name: str, most: int) -> None:
    assert _field(name, "é" * most) == "é" * most
    assert _refused({"items": [{"id": "a", name: "é" * (most + 1)}]}) == [
        (("body", "items", 0, name), "string_too_long")
    ]


@pytest.mark.parametrize("name", ["title", "description", "sku", "image_url"])
@pytest.mark.parametrize("text", ["a\0", "\0", "\udfff", "a\ud800"])
def test_texts_are_without_nul_and_half_pairs(name: str, text: str) -> None:
    ((loc, _),) = _refused({"items": [{"id": "a", name: text}]})

    assert loc == ("body", "items", 0, name)


@pytest.mark.parametrize("name", ["sku", "product_url", "image_url", "description"])
def test_an_empty_text_is_as_good_as_none(name: str) -> None:
    assert _field(name, "") is None


def test_texts_are_kept_as_they_are_sent() -> None:
    assert _field("title", " e\u0301 <b>\n ") == " e\u0301 <b>\n "


@pytest.mark.parametrize("name", ["categories", "category_ids"])
def test_an_item_has_at_most_200_categories(name: str) -> None:
    names = [f"c{n}" for n in range(200)]

    assert _field(name, names) == tuple(names)
    assert _refused({"items": [{"id": "a", name: [*names, "one more"]}]}) == [
        (("body", "items", 0, name), "too_long")
    ]


def test_blank_categories_are_left_out() -> None:
    assert _field("categories", ["", "A", "  "]) == ("A",)
    assert _field("category_ids", ["", "1"]) == ("1",)


@pytest.mark.parametrize(
    ("body", "loc", "kind"),
    [
        ({}, ("body", "items"), "missing"),
        ({"items": None}, ("body", "items"), "list_type"),
        ({"items": {"id": "a"}}, ("body", "items"), "list_type"),
        ({"items": [None]}, ("body", "items", 0), "model_type"),
        ({"items": [[]]}, ("body", "items", 0), "model_type"),
        ({"items": [{}]}, ("body", "items", 0, "id"), "missing"),
        (
            {"items": [{"id": "a", "title": 5}]},
            ("body", "items", 0, "title"),
            "string_type",
        ),
        ([{"id": "a"}], ("body",), "model_type"),
        (None, ("body",), "model_type"),
        ("x", ("body",), "model_type"),
    ],
)
def test_a_wrong_shape_is_refused_at_its_place(
    body: object, loc: tuple[str | int, ...], kind: str
) -> None:
    assert _refused(body) == [(loc, kind)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sku", 2.5),
        ("description", []),
        ("categories", "not a list"),
        ("categories", {"a": 1}),
        ("categories", ["A", 5]),
        ("categories", [None]),
        ("categories", ["A", "b\0"]),
        ("category_ids", [1, 2.5]),
        ("category_ids", [["a"]]),
        ("availability", "IN STOCK!"),
        ("availability", True),
        ("available_from", "tomorrow"),
        ("available_until", "2026-02-30"),
        ("available_until", 20260301),
    ],
)
def test_a_wrong_value_is_refused_at_its_field(name: str, value: object) -> None:
    ((loc, _),) = _refused({"items": [{"id": "a", name: value}]})

    assert loc[:4] == ("body", "items", 0, name)


@pytest.mark.parametrize("body", MISSHAPEN.values(), ids=MISSHAPEN)
def test_no_misshapen_body_is_a_push(body: bytes) -> None:
    assert _refused(parse_json(body))


def test_every_problem_of_an_item_is_reported() -> None:
    assert _refused({"items": [{"id": "", "price": "x", "title": 1}]}) == [
        (("body", "items", 0, "id"), "string_too_short"),
        (("body", "items", 0, "title"), "string_type"),
        (("body", "items", 0, "price"), "float_parsing"),
    ]


def test_a_thousand_items_are_taken_and_one_more_is_not_even_looked_at() -> None:
    assert len(_push(*[{"id": "a"}] * 1000)) == 1000
    with pytest.raises(TooManyItemsError, match="1001 items"):
        _push(*["not an item"] * 1001)


def test_a_push_of_nothing_but_mistakes_is_refused_in_brief() -> None:
    # 412,000 mistakes: telling each would cost the server more than storing them
    worst = {"id": 2.5, "title": 1, "categories": [1] * 200, "category_ids": [2.5] * 200}

    problems = _refused({"items": [worst] * 1000})

    assert 100 <= len(problems) <= 600


def test_a_list_too_long_is_refused_without_looking_at_its_members() -> None:
    assert _refused({"items": [{"id": "a", "categories": [1] * 1_000_000}]}) == [
        (("body", "items", 0, "categories"), "too_long")
    ]


def test_a_line_of_a_file_is_an_item_like_any_other() -> None:
    assert parse_item({"id": 7, "price": "5"}) == ItemPatch("7", {"price": 5.0})
    with pytest.raises(InvalidInputError, match=r"^price: Input should be"):
        parse_item({"id": "a", "price": "dear"})


def test_a_row_of_a_csv_has_cells_for_fields() -> None:
    row = {
        "id": " 007 ",
        "title": "Tent",
        "price": "19.90",
        "stock_qty": "3",
        "availability": "in stock",
        "categories": "Tents| Outdoor > Tents |",
        "category_ids": "12|t",
        "description": "",
        "cost": "  ",
        "sku": None,
        "colour": "red",
    }

    assert parse_item_row(row) == ItemPatch(
        "007",
        {
            "title": "Tent",
            "price": 19.9,
            "availability": Availability.IN_STOCK,
            "stock_qty": 3,
            "categories": ("Tents", "Outdoor > Tents"),
            "category_ids": ("12", "t"),
        },
    )


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"title": "no id"}, "id: Field required"),
        ({"id": ""}, "id: Field required"),
        ({"id": "a", "price": "1,5"}, "price: "),
        ({"id": "a", "stock_qty": "2.5"}, "stock_qty: "),
        ({"id": "a", "available_from": "soon"}, "available_from: write a date"),
    ],
)
def test_a_row_that_cannot_be_read_says_which_cell(row: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        parse_item_row(row)


@pytest.mark.parametrize(
    ("prices", "stored"),
    [
        (None, ()),
        ({}, ()),
        ({"eur": 3, "group:Trade": "2.50"}, (("EUR", 3, None), ("group:trade", 2.5, None))),
        ({"USD": {"price": 5, "list_price": 7}}, (("USD", 5, 7),)),
        ({"USD": {"price": 7, "sale_price": 5}}, (("USD", 5, 7),)),
        ({"USD": {"price": 7, "sale_price": 5, "list_price": 9}}, (("USD", 5, 9),)),
        ({"USD": {"price": 7, "sale_price": None, "x": 1}}, (("USD", 7, None),)),
        ({"USD": None, "CHF": {}}, (("USD", None, None), ("CHF", None, None))),
    ],
)
def test_prices_of_lists_are_numbers_or_objects(
    prices: object, stored: tuple[object, ...]
) -> None:
    (patch,) = _push({"id": "a", "prices": prices})

    assert patch.fields == {"prices": stored}
    assert PackedItemPatch.of(patch).fields == patch.fields


@pytest.mark.parametrize(
    ("prices", "words"),
    [
        ([1], "valid dictionary"),
        (5, "valid dictionary"),
        ({"EURO": 1}, "a price list is a currency such as EUR, a customer group"),
        ({"": 1}, "a price list is a currency"),
        ({"EUR": "cheap"}, "valid number"),
        ({"EUR": float("nan")}, "finite number"),
        ({"EUR": 1e13}, "less than or equal to"),
        ({"EUR": [1]}, "valid number"),
        ({"EUR": {"price": True}}, "valid number"),
        ({f"group:g{n}": 1 for n in range(51)}, "at most 50 price lists; leave some out"),
    ],
)
def test_prices_that_are_none_are_refused_at_their_place(
    prices: object, words: str
) -> None:
    with pytest.raises(InvalidInputError, match=words) as caught:
        _push({"id": "a", "prices": prices})

    assert caught.value.problems[0].loc == ("body", "items", 0, "prices")


def test_a_row_has_prices_of_lists_in_columns_and_as_json() -> None:
    row = {
        "id": "a",
        "price:USD": " 5 ",
        "price:group:trade": "9",
        "sale_price:group:trade": "7",
        "price:CHF": "",
        "prices": '{"GBP": 4, "USD": 1}',
    }

    assert parse_item_row(row).fields["prices"] == (
        ("GBP", 4, None), ("USD", 5, None), ("group:trade", 7, 9),
    )  # fmt: skip
    with pytest.raises(InvalidInputError, match="prices: "):
        parse_item_row({"id": "a", "price:dollars": "5"})


def test_the_published_schema_has_every_field_and_limit() -> None:
    schema = ItemsPush.model_json_schema()
    item = schema["$defs"]["ItemBody"]

    assert schema["properties"]["items"]["maxItems"] == 1000
    assert set(item["properties"]) == {"id", *FIELD_DEFAULTS}
    assert item["required"] == ["id"]
    assert item["properties"]["title"]["anyOf"][0]["maxLength"] == 1000
    assert item["properties"]["categories"]["anyOf"][0]["maxItems"] == 200
