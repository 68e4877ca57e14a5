// Validates the products of a reply before a page shows them.

export interface Product {
  readonly id: string;
  readonly title: string;
  readonly price: number | null;
  readonly image: string | null;
  readonly url: string | null;
  readonly source: string;
  /** Whether a bundle may preselect it. */
  readonly certain: boolean;
}

/** Returns the products of a list without invalid entries. */
export function productsOf(list: unknown): Product[] {
  return Array.isArray(list) ? list.map(productOf).filter((one) => !!one) : [];
}

export function productOf(one: any): Product | null {
  const id = textOf(one?.id);
  if (!id) return null;
  return {
    id,
    title: textOf(one.title) || id,
    price: Number.isFinite(one.price) ? one.price : null,
    image: webAddress(one.image_url),
    url: webAddress(one.product_url),
    source: textOf(one.source),
    certain: one.certain !== false,
  };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Returns an address that a page may link to or load: http, https, or relative; else nothing. */
export function webAddress(value: unknown): string | null {
  if (!textOf(value)) return null;
  try {
    const { href } = new URL(textOf(value), document.baseURI);
    return /^https?:/.test(href) ? href : null;
  } catch {
    return null;
  }
}
