// A widget's settings, from GET /v1/widget-config.

/** The built-in texts of widgets; each type gets those that it uses. */
export type Words = Readonly<
  Record<
    | "previous" | "next" | "add" | "added" | "add_all" | "total" | "this_item" | "failed"
    | "label" | "sold_out"
    | "photo" | "photo_hint" | "photo_kept" | "photo_busy" | "photo_failed" | "photo_late" | "close"
    | "photo_crop" | "photo_frame" | "photo_turn" | "photo_find"
    | "found_one" | "found" | "none" | "popular" | "see_all" | "did_you_mean" | "remove_filter" | "variants"
    | "question_brand" | "question_categories" | "question_color" | "question_material" | "question_size" | "question_other"
    | "similar"
    | "gone" | "products" | "upload" | "nothing",
    string
  >
> & {
  /** 1234 written as a price, if the service knows the format. */
  readonly price?: string;
};

/** The settings of every widget type, with the service's names and defaults. */
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
  /** The price list; empty for the usual prices. */
  readonly price_list?: string | null;
  readonly show_price: boolean;
  readonly show_add_to_cart: boolean;
  readonly open_in_new_tab: boolean;
  readonly strings: Words;
  /** Badges on products, by source. */
  readonly badges?: Readonly<Record<string, string>>;
  /** The merchant's CSS: for the widget if `scoped`, else for the whole page. */
  readonly custom_css: string | null;
  readonly scoped: boolean;
}

/** Returns the settings in a reply of the service. */
export function lookOf(reply: any): Look {
  return { ...reply.settings, ...reply };
}
