// What is bought together, with its sum and one button for all of it.

import { press } from "../core/button";
import { linkOf } from "../core/card";
import type { Look } from "../core/config";
import { draw } from "../core/drawing";
import { money } from "../core/money";
import type { Product } from "../core/product";
import type { Told } from "./layouts";

/**
 * Returns the list with a box to choose each product, and the sum of what is chosen. `own`,
 * the product of the page, comes first.
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
  const text = draw("span", {}, words.add_all);
  const button = draw("button", { class: "button main", part: "button" }, text);
  const all = own ? [own, ...products] : products;
  const chosen = new Set(all);
  const sum = (): void => {
    let amount = (chosen.size === all.length && told.price_) || 0;
    if (!amount) for (const one of chosen) amount += one.price ?? NaN; // an unknown price, an unknown sum
    total.textContent = look.show_price && amount >= 0 ? money(amount, look) : "";
    button.disabled = !chosen.size;
  };
  if (own) {
    list.prepend(draw("li", "card", linkOf(own, look, words.this_item)));
  }
  all.forEach((product, index) => {
    const card = list.children[index]!;
    const box = draw("input", { type: "checkbox", "aria-label": product.title });
    box.checked = true;
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(product);
      else chosen.delete(product);
      card.classList.toggle("off", !box.checked);
      sum();
    });
    card.prepend(draw("label", "check", box));
  });
  button.addEventListener("click", () => {
    const wanted = all.filter((one) => chosen.has(one));
    void press(button, text, words.add_all, words, () => told.wanted_(wanted));
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
