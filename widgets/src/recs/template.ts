// A card of the shop's own: a template whose {{names}} are replaced by a product's text, as text
// only.

import { priceOf } from "../core/card";
import type { Look } from "../core/config";
import type { Product } from "../core/product";

/**
 * Returns the template's tree with `id`, `title`, `price` and `source` filled in. Links without
 * an address lead to the product; pictures without one show it.
 */
export function bound(template: HTMLTemplateElement, product: Product, look: Look): Node {
  const made = template.content.cloneNode(true) as DocumentFragment;
  const told: Record<string, any> = { ...product, price: priceOf(product, look) };
  const walker = document.createTreeWalker(made, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode as Text;
    if (text.parentElement?.matches("script,style")) continue;
    text.data = text.data.replace(/{{\s*(\w+)\s*}}/g, (_, name) => told[name] ?? "");
  }
  const give = (tag: string, name: string, address: string | null): void => {
    for (const one of made.querySelectorAll(`${tag}:not([${name}])`)) {
      if (address) one.setAttribute(name, address);
    }
  };
  give("a", "href", product.url);
  give("img", "src", product.image);
  return made;
}
