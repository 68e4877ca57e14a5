// A product card: a picture, a title, a price, and a link to the product's page.

import type { Look } from "./config";
import { draw } from "./drawing";
import { money } from "./money";
import type { Product } from "./product";

/** Returns the picture of a product in a box of fixed size, which is empty without one. */
export function pictureOf({ image }: Product, kind = "image"): HTMLElement {
  const box = draw("span", { class: kind, part: "image-box" });
  if (image) {
    // The title beside it says the same. Without a text, a picture that fails leaves an empty box.
    const attributes = { part: "image", alt: "", loading: "lazy", decoding: "async", src: image };
    box.append(draw("img", attributes));
  }
  return box;
}

/** Returns a product's price as text; empty if it has none, or prices are hidden. */
export function priceOf({ price }: Product, look: Look): string {
  return look.show_price && price !== null ? money(price, look) : "";
}

/** Returns a link to a product's page, with the card's content inside. */
export function linkOf(
  product: Product,
  look: Look,
  badge = look.badges?.[product.source],
): HTMLAnchorElement {
  const price = priceOf(product, look);
  return draw(
    "a",
    {
      part: "link",
      href: product.url,
      target: look.open_in_new_tab && "_blank", // so that no other page reports the click
    },
    pictureOf(product),
    draw(
      "span",
      "text",
      badge && draw("small", "badge", badge),
      draw("span", "title", product.title),
      price && draw("span", "price", price),
    ),
  );
}
