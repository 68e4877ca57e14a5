// How are suggestions drawn? Each is an option of one list, whatever it leads to.

import { pictureOf } from "../core/card";
import type { Look } from "../core/config";
import { draw, icon } from "../core/drawing";
import { money } from "../core/money";
import { type Product, productsOf } from "../core/product";
import { marked } from "./marked";

const GLASS = "M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM15.5 15.5 20 20";

/** Returns an option; without an address the click alone says what it does. */
function option(kind: string, href: string | null, ...children: Node[]): HTMLAnchorElement {
  const attributes = {
    class: `pr-search-option ${kind}`,
    role: "option",
    tabindex: "-1",
    "aria-selected": "false",
    href,
  };
  return draw("a", attributes, ...children);
}

/** Returns the option that leads to a product. */
export function productOption(
  product: Product,
  title: string,
  note: string,
  look: Look,
): HTMLAnchorElement {
  const price = look.show_price && product.price !== null;
  const made = option(
    "",
    product.url,
    pictureOf(product, "pr-search-image"),
    draw(
      "span",
      { class: "pr-search-text" },
      draw("span", { class: "pr-search-title" }, ...marked(title)),
      note && draw("small", {}, note),
    ),
    draw("span", { class: "pr-search-price" }, price && money(product.price!, look)),
  );
  if (look.open_in_new_tab) made.target = "_blank";
  return made;
}

/** Returns the option that asks for other words. */
export function wordsOption(words: string): HTMLAnchorElement {
  const text = draw("span", { class: "pr-search-text" }, words);
  return option("pr-search-words", null, icon(GLASS), text);
}

/** Returns the option that shows all results on the theme's own page. */
export function allOption(words: string): HTMLAnchorElement {
  return option("pr-search-all", null, draw("span", {}, words));
}

/** An answer to a question, which is a filter. */
export interface Answer {
  readonly filter: string;
  readonly value: string;
}

/** Returns the valid answers to the question of a reply. */
export function answersOf(refine: any): Answer[] {
  const options: any[] = Array.isArray(refine?.options) ? refine.options : [];
  return options.filter(
    (one) => typeof one?.filter === "string" && typeof one.value === "string",
  );
}

/** A thing in a photo, with the products that look like it. */
export interface Region {
  readonly label: string;
  readonly products: unknown;
}

/** Returns the regions of a reply by their labels; none where there is only one to choose. */
export function regionsOf(regions: unknown): Region[] {
  const named = new Map<string, Region>();
  for (const one of Array.isArray(regions) ? regions : []) {
    const isNamed = typeof one?.label === "string" && one.label && productsOf(one.products)[0];
    if (isNamed && !named.has(one.label)) named.set(one.label, one);
  }
  return named.size > 1 ? [...named.values()] : [];
}

/** Returns the button that filters by an answer to a question. */
export function answerButton(text: string): HTMLButtonElement {
  return draw("button", { class: "pr-search-filter pr-search-answer", type: "button" }, text);
}

const CROSS = "M6 6l12 12M18 6 6 18";

/** Returns the button that takes a filter away which words of the query were read as. */
export function filterButton(text: string, label: string): HTMLButtonElement {
  const attributes = { class: "pr-search-filter", type: "button", "aria-label": label };
  return draw("button", attributes, draw("span", {}, text), icon(CROSS));
}
