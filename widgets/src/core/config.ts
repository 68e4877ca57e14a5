// How should a widget look? What the merchant set, from GET /v1/widget-config.

/** What widgets say by themselves; each type is told those that it needs. */
export type Words = Readonly<
  Record<
    | "previous" | "next" | "add" | "added" | "add_all" | "total" | "this_item" | "failed"
    | "label" | "sold_out"
    | "photo" | "photo_hint" | "photo_kept" | "photo_busy" | "photo_failed" | "close"
    | "found_one" | "found" | "none" | "popular" | "see_all" | "similar"
    | "gone" | "products" | "upload" | "nothing",
    string
  >
> & {
  /** How 1234 is written as a price, where the service knows. */
  readonly price?: string;
};

/** The settings that every widget understands, as the service names and completes them. */
export interface Look {
  readonly layout: string;
  title: string;
  readonly columns: number;
  readonly columns_mobile: number;
  readonly num: number;
  readonly currency: string;
  readonly locale: string;
  readonly theme: string;
  readonly accent_color: string | null;
  readonly corner_radius: number;
  readonly gap: number;
  readonly image_ratio: string;
  readonly image_fit: string;
  /** Whose prices products have; none are the shop's usual ones. */
  readonly price_list?: string | null;
  readonly show_price: boolean;
  readonly show_add_to_cart: boolean;
  readonly open_in_new_tab: boolean;
  readonly strings: Words;
  /** Words that products of a source bear, by the name of the source. */
  readonly badges?: Readonly<Record<string, string>>;
  /** Rules of the merchant's own, for the widget; for the whole page where not `scoped`. */
  readonly custom_css: string | null;
  readonly scoped: boolean;
}

/** Returns the look that a reply of the service tells. */
export function lookOf(reply: any): Look {
  return { ...reply.settings, ...reply };
}
