// Which attributes do the elements know? A typing error would show the wrong products.

/** The attributes that change what is asked for, or how it is drawn. */
export const ATTRIBUTES = [
  "data-key", "data-type", "data-item-id", "data-item-ids", "data-source", "data-num",
  "data-layout", "data-title", "data-user-id", "data-customer-id", "lang", "placement", "filter",
  "price-list",
];
/** How others begin that any element may have: short, because each byte travels. */
export const OTHERS = /^(cl|ar|ta|data-id|data-[acehrsuv])/;
