// Validates a look, or an analysed photo, before a page shows it.

import { type Product, productOf, productsOf, webAddress } from "../core/product";

/** A place in a picture, as fractions of it, and its products, best first. */
export interface Spot {
  readonly label: string;
  readonly x: number;
  readonly y: number;
  readonly products: readonly Product[];
}

export interface Picture {
  readonly address: string;
  readonly caption: string;
  readonly spots: readonly Spot[];
}

/** Returns the look of a reply; null if there is none, or it is invalid. */
export function pictureOf(look: any): Picture | null {
  const address = webAddress(look?.image_url);
  if (!address) return null;
  const caption = typeof look.title === "string" ? look.title : "";
  return { address, caption, spots: spotsOf(look.hotspots) };
}

/** Returns the spots of a look (one product each) or of an analysis (several each). */
export function spotsOf(hotspots: unknown): Spot[] {
  const all: any[] = Array.isArray(hotspots) ? hotspots : [];
  return all.map(({ label, bbox, product, products }) => {
    const [x = 0, y = 0, width = 0, height = 0] = (bbox ?? []).map(Number);
    const own = productOf(product);
    return {
      label: `${label ?? ""}`.split(">").pop()!.trim(), // the narrowest of a path of categories
      x: within(x + width / 2),
      y: within(y + height / 2),
      products: own ? [{ ...own, source: own.source || "look" }] : productsOf(products),
    };
  });
}

const within = (share: number): number => Math.min(Math.max(share || 0, 0), 1);
