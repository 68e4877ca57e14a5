"""Components for React and Vue: props reach the real element, and its events come back."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import watched
from tests.support.project import ROOT
from tests.support.storefront import Storefront

MODULES: Final = ROOT / "widgets/node_modules"
COMPONENTS: Final = ROOT / "clients/elements"
NOTES: Final = "window.calls = []; note = (...said) => { calls.push(said.join(' ')); };"
WANTED: Final = """async () => {
  const wanted = new CustomEvent("product-recs:add-to-cart", {
    bubbles: true, cancelable: true,
    detail: { items: [{ id: "p1" }], waitUntil: (work) => (window.work = work) } });
  const isLeft = document.querySelector("product-recs").dispatchEvent(wanted);
  await window.work;
  return isLeft;
}"""
REACT: Final = """
import { createElement, useState } from "react";
import { createRoot } from "react-dom/client";
import { ProductRecs } from "COMPONENTS/react.js";

function App() {
  const [itemId, show] = useState("p0");
  window.show = show;
  return itemId && createElement(ProductRecs, {
    itemId, source: "buy", num: 3, eager: true, layout: "grid", className: "shelf",
    filter: ["in_stock:true", "price:1..500"], heading: "Goes with it", lang: null,
    onLoaded: () => note("loaded", itemId),
    onProductClick: ({ product }) => { note("click", product.id); return false; },
    onAddToCart: async ({ items }) => note("cart", items[0].id),
  });
}
createRoot(document.getElementById("app")).render(createElement(App));
"""
VUE: Final = """
import { createApp, h, ref } from "vue";
import { ProductRecs } from "COMPONENTS/vue.js";

createApp({
  setup() {
    const itemId = ref("p0");
    window.show = (id) => (itemId.value = id);
    return () => itemId.value && h(ProductRecs, {
      itemId: itemId.value, source: "buy", num: 3, eager: true, layout: "grid",
      filter: ["in_stock:true", "price:1..500"], heading: "Goes with it", lang: null,
      class: "shelf",
      onLoaded: () => note("loaded", itemId.value),
      onProductClick: ({ product }) => note("click", product.id),
      beforeClick: () => false,
      addToCart: async ({ items }) => note("cart", items[0].id),
    });
  },
}).mount("#app");
"""
TYPED: Final = """
import { createElement } from "react";
import { h } from "vue";
import { ProductRecs } from "COMPONENTS/react.js";
import { ProductRecs as VueRecs } from "COMPONENTS/vue.js";

createElement(ProductRecs, {
  itemId: "p0", className: "shelf", onProductClick: ({ product }) => product.id !== "p1",
});
h(VueRecs, { itemId: "p0", addToCart: ({ items }) => fetch("/cart/" + items[0]?.id) });
// @ts-expect-error: an id is text
createElement(ProductRecs, { itemId: 7 });
// @ts-expect-error: there is no such layout
h(VueRecs, { layout: "wheel" });
"""


def missing(*packages: str) -> pytest.MarkDecorator:
    """Skip a test where a program or package is not installed."""
    reason = (
        "the components were NOT tested: Node or what `npm ci` installs in widgets/ is "
        "missing; apt-get install npm, then tools/setup test"
    )
    there = all((MODULES / one).is_dir() for one in packages)
    return pytest.mark.skipif(shutil.which("node") is None or not there, reason=reason)


def bundled(source: str, folder: Path) -> str:
    """Return a script with all that it imports, for a page."""
    entry = folder / "app.js"
    entry.write_text(source.replace("COMPONENTS", str(COMPONENTS)), "utf-8")
    done = subprocess.run(
        [
            MODULES / "esbuild/bin/esbuild",
            *(entry, "--bundle", "--format=iife", "--minify", "--charset=utf8"),
            *("--define:process.env.NODE_ENV='production'", "--log-level=error"),
            *("--define:__VUE_OPTIONS_API__=true", "--define:__VUE_PROD_DEVTOOLS__=false"),
            "--define:__VUE_PROD_HYDRATION_MISMATCH_DETAILS__=false",
        ],
        env={"NODE_PATH": str(MODULES)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(REACT, id="react", marks=missing("esbuild", "react-dom")),
        pytest.param(VUE, id="vue", marks=missing("esbuild", "vue")),
    ],
)
def test_a_component_is_the_element_with_its_attributes_and_events(
    page: Page, front: Storefront, tmp_path: Path, source: str
) -> None:
    log = watched(page)
    script = f"{NOTES}{bundled(source, tmp_path)}"
    page.goto(front.page("/", f"<div id=app></div><script>{script}</script>"))

    element = page.locator("product-recs")
    cards = page.locator("product-recs >> li[data-id]")
    expect(cards).to_have_count(2)
    expect(page.locator("product-recs >> .heading")).to_have_text("Goes with it")
    expect(element).to_have_class("shelf")
    expect(element).to_have_attribute("data-eager", "")
    assert element.get_attribute("lang") is None
    (asked,) = front.requests_to("/v1/recommendations")
    assert (asked["source"], asked["num"], asked["item_id"]) == ("buy", "3", "p0")
    assert asked["filter"] == "price:1..500"  # the last of both
    address, clicked = page.url, cards.first.get_attribute("data-id")

    cards.first.locator("a").first.click()
    assert page.evaluate(WANTED) is False
    page.evaluate("window.show('p1')")
    page.wait_for_function("window.calls.includes('loaded p1')")

    assert page.evaluate("window.calls") == [
        *("loaded p0", f"click {clicked}", "cart p1", "loaded p1")
    ]
    assert page.url == address
    page.evaluate("window.show(null)")
    expect(element).to_have_count(0)
    assert log.complaints == []


@missing("react", "vue", "@types/react", "typescript")
def test_the_components_are_typed(tmp_path: Path) -> None:
    shutil.copytree(COMPONENTS, tmp_path / "components")
    (tmp_path / "app.ts").write_text(TYPED.replace("COMPONENTS", "./components"), "utf-8")
    (tmp_path / "node_modules").symlink_to(MODULES)
    done = subprocess.run(
        [
            MODULES / ".bin/tsc",
            *("--noEmit", "--strict", "--exactOptionalPropertyTypes"),
            *("--module", "esnext", "--moduleResolution", "bundler", "--target", "es2022"),
            *("--types", "", "--preserveSymlinks", "app.ts"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
