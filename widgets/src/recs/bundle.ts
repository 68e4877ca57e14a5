// What is bought together, with its sum and one button for all of it.

import type { Look } from "../core/config";
import { draw } from "../core/drawing";
import { money } from "../core/money";
import type { Product } from "../core/product";
import { type Told, press } from "./layouts";

/** Returns the list with a box to choose each product, and the sum of what is chosen. */
export function drawBundle(
  list: HTMLElement,
  products: readonly Product[],
  look: Look,
    told: Told,
): HTMLElement {
  const words = look.strings;
  const chosen = new Set(products);
  const total = draw("span", { class: "total", part: "total" });
  const text = draw("span", {}, words.add_all);
  const button = draw("button", { class: "button main", part: "button", type: "button" }, text);
  const sum = (): void => {
    const prices = [...chosen].map((one) => one.price ?? 0);
    const all = prices.reduce((one, other) => one + other, 0);
    total.textContent = look.show_price ? money(all, look.currency, look.locale) : "";
    button.toggleAttribute("disabled", !chosen.size);
  };
  [...list.children].forEach((card, index) => {
    const product = products[index];
    if (product) card.prepend(choice(product, card, chosen, sum));
  });
  button.addEventListener("click", () => {
    const all = products.filter((one) => chosen.has(one));
    void press(button, text, words.add_all, words, () => told.wanted(all, null));
  });
  sum();
  const label = draw("span", { class: "of" }, words.total);
  const box = draw(
    "div",
    { class: "sum", part: "sum" },
    look.show_price && label,
    draw("span", { "aria-live": "polite" }, total),
    button,
  );
  return draw("div", { class: "body" }, list, box);
}

function choice(
  product: Product,
  card: Element,
  chosen: Set<Product>,
  changed: () => void,
): HTMLElement {
  const box = draw("input", { type: "checkbox", "aria-label": product.title });
  box.checked = true;
  box.addEventListener("change", () => {
    if (box.checked) chosen.add(product);
    else chosen.delete(product);
    card.classList.toggle("off", !box.checked);
    changed();
  });
  return draw("label", { class: "check" }, box);
}
