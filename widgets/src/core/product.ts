// What of a reply may a page show? Products whose parts are what they should be.

export interface Product {
  readonly id: string;
  readonly title: string;
  readonly price: number | null;
  readonly image: string | null;
  readonly url: string | null;
  readonly source: string;
}

/** Returns the products of a list; whatever is no product is left out. */
export function productsOf(list: unknown): Product[] {
  return Array.isArray(list) ? list.map(productOf).filter((one) => one !== null) : [];
}

export function productOf(one: any): Product | null {
  if (!one || typeof one.id !== "string" || !one.id) return null;
  return {
    id: one.id,
    title: typeof one.title === "string" && one.title ? one.title : one.id,
    price: Number.isFinite(one.price) ? one.price : null,
    image: webAddress(one.image_url),
    url: webAddress(one.product_url),
    source: typeof one.source === "string" ? one.source : "",
  };
}

/** Returns an address that a page may lead to or show: http, https, or relative. */
export function webAddress(value: unknown): string | null {
  if (typeof value !== "string" || !value) return null;
  try {
    const { protocol, href } = new URL(value, document.baseURI);
    return protocol === "http:" || protocol === "https:" ? href : null;
  } catch {
    return null;
  }
}
