// The attributes that elements know. An unknown one is reported, because a typing error would
// show wrong products.

/** The attributes that change the request, or the appearance. */
export const ATTRIBUTES = (
  "data-key data-type data-item-id data-item-ids data-source data-num data-layout data-title " +
  "data-user-id data-customer-id lang placement filter price-list"
).split(" ");
/**
 * The prefixes of the other attributes that any element may have. They are short to save bytes.
 */
export const OTHERS = /^(cl|ar|ta|data-id|data-[acehrsuv])/;
