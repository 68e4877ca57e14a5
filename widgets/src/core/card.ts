// A product card: a picture, a title, a price, and a link to the product's page.

import type { Look } from "./config";
import { draw, icon } from "./drawing";
import { money } from "./money";
import type { Product } from "./product";

const PICTURE = "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4";

/** Returns the picture of a product in a box of fixed size, or a placeholder. */
export function pictureOf(product: Product, kind = "image"): HTMLElement {
  const box = draw("span", { class: kind, part: "image-box" });
  const showPlaceholder = (): void => box.replaceChildren(icon(PICTURE));
  if (product.image) {
    // The title beside it says the same.
    const attributes = { part: "image", alt: "", loading: "lazy", decoding: "async", src: product.image };
    const image = draw("img", attributes);
    image.addEventListener("error", showPlaceholder);
    box.append(image);
  } else {
    showPlaceholder();
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
