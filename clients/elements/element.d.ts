/** A product of a list. */
export interface Product {
  readonly id: string;
  readonly title: string;
  readonly price: number | null;
  readonly image: string | null;
  readonly url: string | null;
  readonly source: string;
}

/** Products that a shopper wants in the cart. */
export interface CartRequest {
  readonly items: readonly { readonly id: string; readonly price: number | null; readonly quantity: number }[];
  readonly products: readonly Product[];
  readonly currency: string;
  readonly widget: string;
}

/** The attributes of <product-recs>; the guide for widgets explains them. */
export interface ElementProps {
  /** The publishable key; without it, the script's. */
  storeKey?: string | undefined;
  type?: string | undefined;
  itemId?: string | undefined;
  itemIds?: readonly string[] | string | undefined;
  source?: "mix" | "buy" | "browse" | "similar" | "trending" | undefined;
  num?: number | undefined;
  layout?: "carousel" | "grid" | "list" | "fbt" | undefined;
  columns?: number | undefined;
  heading?: string | undefined;
  headingLevel?: number | undefined;
  customerId?: string | undefined;
  userId?: string | undefined;
  /** The customer's id, signed by your server. */
  identity?: string | undefined;
  /** "off": the page is none of the product's. */
  view?: "off" | undefined;
  eager?: boolean | undefined;
  allowDuplicates?: boolean | undefined;
  placement?: string | undefined;
  filter?: readonly string[] | string | undefined;
  priceList?: string | undefined;
  lang?: string | undefined;
}

export interface Loaded {
  readonly type: string;
  readonly products?: readonly Product[];
}

export interface Impression {
  readonly item_ids: readonly string[];
  readonly sources: readonly string[];
  readonly positions: readonly number[];
  readonly widget: string;
}

export interface Click {
  readonly product: Product;
  readonly position: number;
  readonly widget: string;
}

export interface Failure {
  readonly reason: string;
}
