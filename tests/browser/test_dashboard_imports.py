"""Imports in a browser: a file is checked, corrected, started and reported."""

from playwright.sync_api import FilePayload, expect

from tests.support.dashboard_browser import LoggedInPage

ORDERS = b"order_id,item_id,timestamp\nA-1,mug,2026-10-01\nA-2,,2026-10-02\n"
TABLE = b"No;What;Worth\n7;Becher;9,50\n8;Zelt;89,00\n"


def payload(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "text/csv", "buffer": content}


def test_orders_are_checked_imported_and_failed_rows_come_back(
    owner_page: LoggedInPage, axe: str
) -> None:
    page = owner_page.open("/dashboard/imports")
    owner_page.check(axe)
    page.set_input_files("[name=file]", payload("orders.csv", ORDERS))
    page.click("text=Check the file")

    expect(page.locator("#state")).to_have_text("Some rows have errors")
    expect(page.get_by_role("region", name="The first rows", exact=True)).to_contain_text(
        "A-1"
    )
    expect(page.get_by_role("region", name="Rows with errors", exact=True)).to_contain_text(
        "3"
    )
    owner_page.check(axe)
    page.click("text=Start the import")

    expect(page.locator("#state")).to_have_text("Imported")
    expect(page.locator(".tally")).to_contain_text("Failed1")
    owner_page.check(axe)
    with page.expect_download() as sent:
        page.click("text=Download failed rows")
    failed = sent.value.path().read_text("utf-8")
    assert failed.startswith('\ufeff"row","reason","order_id","item_id","timestamp"\n3,')
    page.click("text=All imports")
    expect(page.get_by_role("region", name="History of imports")).to_contain_text(
        "orders.csv"
    )


def test_columns_of_an_unknown_table_are_chosen(owner_page: LoggedInPage, axe: str) -> None:
    page = owner_page.open("/dashboard/imports")
    page.set_input_files("[name=file]", payload("artikel.csv", TABLE))
    page.click("text=Check the file")
    expect(page.get_by_role("alert")).to_contain_text("Choose below")
    owner_page.check(axe)

    page.select_option("[name=map-id]", "No")
    page.select_option("[name=map-title]", "What")
    page.select_option("[name=map-price]", "Worth")
    page.click("text=Check again")

    expect(page.get_by_role("region", name="The first rows", exact=True)).to_contain_text(
        "Becher"
    )
    page.click("text=Discard the file")
    expect(page.get_by_role("status")).to_have_text("The file was deleted.")
