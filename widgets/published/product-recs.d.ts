// What the scripts of ProductRecs bring to a page. Copy it into your project.

interface ProductRecsProduct {
  readonly id: string;
  readonly title: string;
  readonly price: number | null;
  readonly image: string | null;
  readonly url: string | null;
  readonly source: string;
}

interface ProductRecsGlobal {
  track(event: string, payload?: Readonly<Record<string, unknown>>): void;
  consent(granted: boolean): void;
  reset(): void;
}

interface ProductRecsEvents {
  "product-recs:loaded": CustomEvent<{ type: string; products?: readonly ProductRecsProduct[] }>;
  "product-recs:empty": CustomEvent<object>;
  "product-recs:error": CustomEvent<{ reason: string }>;
  "product-recs:impression": CustomEvent<{
    item_ids: readonly string[];
    sources: readonly string[];
    positions: readonly number[];
    widget: string;
  }>;
  "product-recs:click": CustomEvent<{
    product: ProductRecsProduct;
    position: number;
    widget: string;
  }>;
  "product-recs:add-to-cart": CustomEvent<{
    items: readonly { id: string; price: number | null; quantity: number }[];
    products: readonly ProductRecsProduct[];
    currency: string;
    widget: string;
    waitUntil(work: Promise<unknown>): void;
  }>;
}

declare var ProductRecs: ProductRecsGlobal;
interface DocumentEventMap extends ProductRecsEvents {}
interface HTMLElementEventMap extends ProductRecsEvents {}
