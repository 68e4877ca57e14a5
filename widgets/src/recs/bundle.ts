// Products bought together, with their sum and one button for all of them.

import { press } from "../core/button";
import { linkOf } from "../core/card";
import type { Look } from "../core/config";
import { draw } from "../core/drawing";
import { money } from "../core/money";
import type { Product } from "../core/product";
import type { Told } from "./layouts";

/**
 * Returns the list with a check box for each product, and the sum of the checked ones. `own`, the
 * product of the page, comes first. Only products with enough evidence are preselected.
 */
export function drawBundle(
  list: HTMLElement,
  products: readonly Product[],
  own: Product | null,
  look: Look,
  told: Told,
): HTMLElement {
  const words = look.strings;
  const total = draw("span", "total");
  const text = draw("span", {});
  const button = draw("button", { class: "button main", part: "button" }, text);
  const all = own ? [own, ...products] : products;
  if (own) {
    list.prepend(draw("li", "card", linkOf(own, look, words.this_item)));
  }
  const boxes = all.map(({ title, certain }, index) => {
    const checked = certain && "";
    const box = draw("input", { type: "checkbox", "aria-label": title, checked });
    list.children[index]!.prepend(draw("label", "check", box));
    return box;
  });
  const chosen = (): Product[] => all.filter((_, index) => boxes[index]!.checked);
  const sum = (): void => {
    const wanted = chosen();
    let amount = (wanted.length === all.length && told.price_) || 0;
    if (!amount) for (const one of wanted) amount += one.price ?? NaN; // an unknown price makes the sum unknown
    total.textContent = look.show_price && amount >= 0 ? money(amount, look) : "";
    button.disabled = !wanted.length;
    text.textContent = wanted.length < all.length ? words.add : words.add_all;
  };
  list.addEventListener("change", sum);
  button.addEventListener("click", () => {
    void press(button, text, text.textContent!, words, () => told.wanted_(chosen()));
  });
  sum();
  const box = draw(
    "div",
    "sum",
    look.show_price && draw("span", "of", words.total),
    draw("span", { "aria-live": "polite" }, total),
    button,
  );
  return draw("div", "body", list, box);
}
