"""Guide pages: copy buttons, the reader's own key, and accessibility."""

import pytest
from playwright.sync_api import Browser, Page, expect

from productrecs.features.guides.developer_guide_index import GUIDES
from tests.support.browser import BARRIERS, watched
from tests.support.service import HOST, Merchant, Service

TOO_WIDE = "(all => all.scrollWidth - all.clientWidth)(document.documentElement)"
READ = ["/", "/guides", "/guides?q=key", "/guides/no-such"]
READ += [f"/guides/{guide.slug}" for guide in GUIDES]


def address(service: Service, path: str) -> str:
    return f"http://{HOST}:{service.port}{path}"


def stored(page: Page) -> object:
    return page.evaluate("localStorage.getItem('productrecs-guides')")


LOOKS = [(375, "light"), (1280, "dark"), (375, "dark"), (1280, "light")]


# The short form looks at every second page, in one of two looks; the long form in all four.
@pytest.mark.parametrize(
    ("width", "scheme", "pages"),
    [(*look, READ[n::4]) for n, look in enumerate(LOOKS[:2])]
    + [pytest.param(*look, READ, marks=pytest.mark.trust) for look in LOOKS],
    ids=lambda one: "" if isinstance(one, list) else str(one),
)
def test_every_page_has_no_barriers_and_fits(
    browser: Browser, service: Service, axe: str, width: int, scheme: str, pages: list[str]
) -> None:
    wrong = []
    with browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
        bypass_csp=True,  # for the script that looks for barriers
    ) as context:
        page = context.new_page()
        for path in pages:
            page.goto(address(service, path))
            page.evaluate(axe)
            wrong += [f"{path}: {one}" for one in page.evaluate(BARRIERS)]
            if (overflow := page.evaluate(TOO_WIDE)) > 0:
                wrong.append(f"{path} is {overflow} px too wide")

    assert wrong == []


def test_control_a_barrier_is_noticed(browser: Browser, service: Service, axe: str) -> None:
    with browser.new_context(bypass_csp=True) as context:
        page = context.new_page()
        page.goto(address(service, "/guides/keys"))
        page.evaluate("document.querySelector('pre').style.color = '#ccc'")
        page.evaluate("document.querySelectorAll('pre *').forEach(e => e.className = '')")
        page.evaluate("document.querySelector('pre [data-yours]').style.color = '#ccc'")
        page.evaluate(axe)

        assert any(one.startswith("color-contrast") for one in page.evaluate(BARRIERS))


def test_a_sample_is_copied_as_it_is_shown(browser: Browser, service: Service) -> None:
    with browser.new_context() as context:
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        watch = watched(page)
        page.goto(address(service, "/guides/trending"))
        sample = page.locator(".sample").first
        sample.hover()
        sample.get_by_role("button").click()

        expect(sample.get_by_role("button")).to_have_text("Copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == sample.locator("pre").inner_text().rstrip()
        assert watch.complaints == []


def test_the_readers_key_and_domain_are_in_the_samples_of_every_guide(
    page: Page, service: Service, merchant: Merchant
) -> None:
    key, domain = merchant.account.publishable, merchant.account.domain
    page.goto(address(service, "/guides/trending"))
    page.get_by_text("Your key and domain in the samples").click()
    page.get_by_label("Publishable key").fill(key)
    page.get_by_label("Store's domain").fill(domain)
    page.get_by_role("button", name="Use in the samples").click()
    expect(page.get_by_role("status")).to_contain_text("this browser only")

    page.goto(address(service, "/guides/widgets"))

    text = "\n".join(page.locator("pre").all_inner_texts())
    assert f'data-key="{key}"' in text
    assert f"/widget/v1/{domain}.js" in text
    assert "pk_..." not in text
    assert "shop.example.com" not in text


def test_a_key_in_the_address_is_used_and_taken_out_of_it(
    page: Page, service: Service, merchant: Merchant
) -> None:
    key = merchant.account.publishable

    page.goto(address(service, f"/guides/widgets?key={key}#events"))

    expect(page.locator("pre").first).to_contain_text(f'data-key="{key}"')
    assert page.url == address(service, "/guides/widgets#events")


@pytest.mark.parametrize("where", ["form", "address"])
def test_a_secret_key_is_refused_with_words_and_not_stored(
    page: Page, service: Service, merchant: Merchant, where: str
) -> None:
    secret = merchant.account.secret
    if where == "address":
        page.goto(address(service, f"/guides/widgets?key={secret}"))
    else:
        page.goto(address(service, "/guides/widgets"))
        page.get_by_text("Your key and domain in the samples").click()
        page.get_by_label("Publishable key").fill(secret)
        page.get_by_role("button", name="Use in the samples").click()

    expect(page.get_by_role("status")).to_contain_text("This is a secret key")
    assert stored(page) is None
    assert secret not in page.content()
    assert "sk_" not in page.url
    assert page.get_by_label("Publishable key").input_value() == ""


def test_what_is_stored_and_is_no_key_is_left_out(page: Page, service: Service) -> None:
    page.goto(address(service, "/guides/widgets"))
    page.evaluate("localStorage.setItem('productrecs-guides', '{\"key\":\"<b>\"}')")

    page.reload()

    expect(page.locator("pre").first).to_contain_text('data-key="pk_..."')


def test_without_a_script_the_samples_are_plain_text(
    browser: Browser, service: Service
) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(address(service, "/guides/widgets"))

        assert page.locator("pre").first.inner_text().startswith("<script async src=")
        assert page.locator(".sample, form.yours:visible").count() == 0
