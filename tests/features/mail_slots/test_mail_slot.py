"""Mail slots: who the recipient is, which products stay, and where a link leads."""

import pytest

from productrecs.features.mail_slots.mail_slot import (
    MAX_POSITIONS,
    CampaignMail,
    MailProduct,
    is_mail_proxy,
    refresh_mail_products,
    usable_user_id_or_empty,
    with_mail_utm_parameters,
)


def products(ids: str) -> list[MailProduct]:
    return [MailProduct(item_id, "buy") for item_id in ids]


@pytest.mark.parametrize(
    ("sent", "recipient"),
    [
        ("c-7", "c-7"),
        ("Kunde 7 (Süd)", "Kunde 7 (Süd)"),
        ("", ""),
        ("anna@example.com", ""),
        ("*|UNIQID|*", ""),
        ("{{ person.external_id }}", ""),
        ("{{contact.EXT_ID}}", ""),
        ("{% if x %}", ""),
        ("{id}", ""),
        ("[ID]", ""),
        ("%id%", ""),
        ("c-7\n", ""),
        ("c" * 256, ""),
    ],
)
def test_an_id_counts_unless_it_is_a_tag_or_an_e_mail_address(
    sent: str, recipient: str
) -> None:
    assert usable_user_id_or_empty(sent) == recipient


@pytest.mark.parametrize(
    ("kept", "sold_out", "fresh", "shown"),
    [
        ("", "", "abc", "abc"),
        ("abc", "", "xyz", "abcxyz"),
        ("abc", "b", "xyz", "axcyz"),  # the others keep their positions
        ("abc", "b", "cba", "abc"),  # nothing to replace it with
        ("abc", "bx", "xyz", "aycz"),  # nor by another that is sold out
        ("abc", "", "cab", "abc"),  # none is there twice
        ("", "a", "abc", "bc"),
    ],
)
def test_a_sold_out_product_is_replaced_where_it_stands(
    kept: str, sold_out: str, fresh: str, shown: str
) -> None:
    filled = refresh_mail_products(
        products(kept), lambda item_id: item_id not in sold_out, products(fresh)
    )

    assert "".join(product.item_id for product in filled) == shown


def test_a_mail_has_at_most_twelve_products() -> None:
    many = products("abcdefghijklmnopqrstuvwxyz")

    assert refresh_mail_products([], lambda _: True, many) == tuple(many[:MAX_POSITIONS])


def test_mails_differ_by_slot_recipient_campaign_and_what_they_are_about() -> None:
    named = [
        CampaignMail.from_parameters("news", "c-7", "spring", []),
        CampaignMail.from_parameters("receipt", "c-7", "spring", []),
        CampaignMail.from_parameters("news", "c-8", "spring", []),
        CampaignMail.from_parameters("news", "c-7", "autumn", []),
        CampaignMail.from_parameters("news", "c-7", "spring", ["tent"]),
        CampaignMail.from_parameters("news", "", "spring", []),
    ]

    assert len({mail.digest for mail in named}) == len(named)
    assert CampaignMail.from_parameters("news", "c-7", "spring", []) == named[0]
    assert named[-1].recipient == 0
    assert all("c-7" not in str(mail) for mail in named)


@pytest.mark.parametrize(
    ("agent", "is_proxy"),
    [
        (
            b"Mozilla/5.0 (Windows NT 5.1) Firefox/11.0 (via ggpht.com GoogleImageProxy)",
            True,
        ),
        (b"YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html", True),
        (b"Mozilla/5.0", True),  # Apple's
        (b"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15", False),
        (b"Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0)", False),
        (b"", False),
    ],
)
def test_a_providers_proxy_is_no_reader(agent: bytes, is_proxy: bool) -> None:  # noqa: FBT001 - a table
    assert is_mail_proxy(agent) is is_proxy


@pytest.mark.parametrize(
    ("page", "campaign", "address"),
    [
        (
            "https://shop.example/p/tent",
            "spring sale",
            (
                "https://shop.example/p/tent?utm_source=productrecs&utm_medium=email"
                "&utm_campaign=spring+sale&utm_content=news-2"
            ),
        ),
        (
            "https://shop.example/p?id=1&utm_source=own&utm_campaign=own#top",
            "spring",
            (
                "https://shop.example/p?id=1&utm_source=own&utm_campaign=own"
                "&utm_medium=email&utm_content=news-2#top"
            ),
        ),
        (
            "https://shop.example/",
            "",
            (
                "https://shop.example/?utm_source=productrecs&utm_medium=email"
                "&utm_campaign=news&utm_content=news-2"
            ),
        ),
    ],
)
def test_a_link_tells_web_analytics_which_mail_it_stood_in(
    page: str, campaign: str, address: str
) -> None:
    assert with_mail_utm_parameters(page, "news", 2, campaign) == address
