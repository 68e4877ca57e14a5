"""Journeys in products and merchandising: find, understand, change, and undo."""

import re

from playwright.sync_api import Page, expect

from tests.support.dashboard_browser import LoggedInPage

TENT = "ridge-tent-for-two"
PEGS = "Steel pegs, set of ten"


def focus(page: Page, selector: str, presses: int = 80) -> None:
    """Reach an element with the Tab key alone."""
    for _ in range(presses):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(selector)


def test_a_product_is_found_as_one_types_and_its_lists_explained(
    owner_page: LoggedInPage, axe: str
) -> None:
    page = owner_page.open("/dashboard/products")
    expect(page.locator("tbody tr")).to_have_count(25)
    owner_page.check(axe)

    page.locator("#f-q").press_sequentially("ridge tent")
    expect(page.locator("tbody tr").first).to_contain_text("Ridge tent")
    expect(page).to_have_url(re.compile("q=ridge"))
    page.click(f"a[href$='id={TENT}']")

    expect(page.locator("h1")).to_have_text("Ridge tent for two")
    bought = page.locator("section:has(> #list-buy)")
    expect(bought).to_contain_text(PEGS)
    expect(bought).to_contain_text("orders hold it and Ridge tent for two")
    owner_page.check(axe)

    pegs = bought.locator("li", has_text=PEGS)
    pegs.locator("summary").click()
    pegs.get_by_role("link", name="See the lists without it").click()
    expect(page.locator("section:has(> #list-buy) .picks")).not_to_contain_text(PEGS)
    expect(page.locator("section:has(> #list-buy)")).to_contain_text(
        "No longer in the list"
    )


def test_pictures_have_their_place_before_they_are_there(owner_page: LoggedInPage) -> None:
    page = owner_page.open("/dashboard/products")
    picture = page.locator("tbody img").first

    box = picture.bounding_box()
    assert box is not None
    assert (box["width"], box["height"]) == (40, 40)
    assert picture.get_attribute("loading") == "lazy"
    assert picture.get_attribute("referrerpolicy") == "no-referrer"
    picture.evaluate("picture => picture.decode()")  # fails unless there is a picture


def test_a_rule_is_made_and_undone_with_the_keyboard_alone(
    owner_page: LoggedInPage, axe: str
) -> None:
    page = owner_page.open("/dashboard/merchandising")
    keys = page.keyboard
    focus(page, "a.button[href$='/rule']")
    keys.press("Enter")
    expect(page.locator("h1")).to_have_text("New rule")

    focus(page, "[name=action]")
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    expect(page.locator("[value=pin]")).to_be_checked()
    focus(page, "#f-item")
    keys.type("feeding bowl")
    offered = page.locator("[role=option]")
    expect(offered.first).to_contain_text("Feeding bowl, stoneware")
    expect(offered.first.locator("img.thumb")).to_be_visible()
    owner_page.check(axe)
    keys.press("Enter")
    expect(page.locator("[name=item]")).to_have_value("feeding-bowl-stoneware")
    expect(page.locator(".chip")).to_contain_text("Feeding bowl, stoneware")
    after = page.locator("section[aria-label=After]")
    expect(after.locator("li").first).to_contain_text("Feeding bowl, stoneware")
    expect(after.locator("li").first).to_contain_text("Pinned by rule")
    owner_page.check(axe)

    _look_and_save(page)
    owner_page.check(axe)
    focus(page, "[aria-label^='Undo: Bowl first']")
    keys.press("Enter")
    expect(page.locator(".flash")).to_contain_text("Undone")
    expect(page.locator("tbody tr", has_text="Bowl first")).to_have_count(0)
    expect(page.locator("#history")).to_contain_text("Removed by owner@")


def _look_and_save(page: Page) -> None:
    """See the rule on another product's page, name it, and save it, by keyboard."""
    keys = page.keyboard
    focus(page, "#f-on")
    keys.type(TENT)
    keys.press("Enter")
    expect(page.locator("[name=on]")).to_have_value(TENT)
    expect(page.locator("#f-on")).to_have_value("Ridge tent for two")
    before = page.locator("section[aria-label=Before]")
    expect(before).to_contain_text("orders hold it and Ridge tent for two")
    focus(page, "#f-name")
    keys.type("Bowl first")
    keys.press("Enter")

    expect(page.locator(".flash")).to_contain_text("follows within a second")
    row = page.locator("tbody tr", has_text="Bowl first")
    expect(row).to_contain_text("In force")


def test_changes_that_are_not_saved_are_not_lost_without_a_question(
    owner_page: LoggedInPage, axe: str
) -> None:
    page = owner_page.open("/dashboard/placements/placement")
    page.on("dialog", lambda dialog: dialog.dismiss())
    page.fill("#f-placement", "half-done")
    page.fill("#f-filters", "knitwear")
    page.locator("[role=option]", has_text="Category: Clothing > Knitwear").click()
    expect(page.locator("[name=filters]")).to_have_value("categories:Clothing > Knitwear")

    page.get_by_role("link", name="Cancel").click()
    dialog = page.get_by_role("dialog", name="Leave without saving?")
    owner_page.check(axe)
    dialog.get_by_role("button", name="Stay on this page").click()
    with page.expect_event("dialog") as shown:
        page.close(run_before_unload=True)
    assert shown.value.type == "beforeunload"
    expect(page.locator("#f-placement")).to_have_value("half-done")
    page.get_by_role("button", name="Remove Category: Clothing > Knitwear").click()
    expect(page.locator("[name=filters]")).to_have_value("")
    page.get_by_role("link", name="Cancel").click()
    dialog.get_by_role("button", name="Leave without saving").click()

    page.wait_for_url("**/dashboard/placements")


def test_a_placement_is_made_with_a_live_preview_and_removed(
    owner_page: LoggedInPage, axe: str
) -> None:
    page = owner_page.open("/dashboard/placements")
    expect(page.locator("h1")).to_have_text("Placements")
    owner_page.check(axe)
    page.get_by_role("link", name="New placement").click()

    page.fill("#f-placement", "beside-tents")
    page.select_option("#f-strategy", "complementary")
    page.fill("#f-on", TENT)
    preview = page.locator("#preview")
    expect(preview.locator("li").first).to_contain_text(PEGS)
    owner_page.check(axe)
    page.fill("#f-filters", "colour")
    page.press("#f-filters", "Enter")
    expect(page.locator(".chip")).to_contain_text("Not a filter: choose one from the list")
    expect(preview).to_contain_text("A filter is categories:NAME")
    page.press("#f-filters", "Backspace")
    page.fill("#f-filters", "20")
    page.get_by_role("option", name="Price up to 20").click()
    expect(preview.locator("li").first).to_be_visible()
    expect(preview).to_contain_text(f'placement="beside-tents" data-item-id="{TENT}"')
    page.get_by_role("button", name="Save placement").last.click()

    expect(page.locator(".flash")).to_contain_text("“beside-tents” is saved")
    expect(page.locator("tbody tr", has_text="beside-tents")).to_contain_text(
        "Price up to 20"
    )
    owner_page.check(axe)
    page.get_by_role("button", name="Remove: beside-tents").click()
    expect(page.locator(".flash")).to_contain_text("is removed")


def test_a_proposed_bundle_is_changed_priced_and_accepted(
    owner_page: LoggedInPage, axe: str
) -> None:
    page = owner_page.open("/dashboard/bundles")
    row = page.locator("tbody tr", has_text=PEGS).first
    expect(row).to_contain_text("Ridge tent for two")
    owner_page.check(axe)
    row.get_by_role("link", name="Set up").click()

    parts = page.locator("[name=part]")
    before = parts.input_value().split("\n")
    page.locator("#f-part").press_sequentially("lantern")
    page.locator("[role=option]", has_text="Camp lantern").first.click()
    lantern = "camp-lantern-rechargeable"
    expect(parts).to_have_value("\n".join([*before, lantern]))
    move = page.get_by_role("button", name=re.compile("Move Camp lantern.* up"))
    move.press("Enter")
    expect(move).to_be_focused()
    expect(parts).to_have_value("\n".join([before[0], lantern, before[1]]))
    expect(page.locator("#preview li").nth(1)).to_contain_text("Camp lantern")
    page.get_by_role("button", name=re.compile("Move Camp lantern.* down")).click()
    expect(parts).to_have_value("\n".join([*before, lantern]))
    page.fill("#f-bundle_name", "Camping night")
    page.select_option("#f-discount", "percent")
    page.fill("#f-value", "10")
    preview = page.locator("#preview")
    expect(preview.locator("li")).to_have_count(3)
    expect(preview).to_contain_text("of the price")
    owner_page.check(axe)
    page.get_by_role("button", name="Accept bundle").last.click()

    expect(page.locator(".flash")).to_contain_text("“Camping night” is saved")
    stored = page.locator("section[aria-label='Your bundles'] tbody tr")
    expect(stored).to_contain_text("Shown")
    owner_page.check(axe)
    page.get_by_role("button", name="Remove: Camping night").click()
    expect(page.locator(".flash")).to_contain_text("may be proposed again")
