// What the components share: props become attributes of <product-recs>, its events become calls.

/** The attribute of each prop. */
const ATTRIBUTES = {
  storeKey: "data-key", type: "data-type", itemId: "data-item-id", itemIds: "data-item-ids",
  source: "data-source", num: "data-num", layout: "data-layout", columns: "data-columns",
  heading: "data-title", headingLevel: "data-heading-level", customerId: "data-customer-id",
  userId: "data-user-id", identity: "data-identity", view: "data-view", eager: "data-eager",
  allowDuplicates: "data-allow-duplicates", placement: "placement", filter: "filter",
  priceList: "price-list", lang: "lang",
};
const SEPARATORS = { filter: ";" };

export const PROPS = Object.keys(ATTRIBUTES);

/** Returns the element's attributes; a prop that is missing, null or false has none. */
export function attributesOf(props) {
  const attributes = {};
  for (const [prop, attribute] of Object.entries(ATTRIBUTES)) {
    const value = props[prop];
    if (value == null || value === false) continue;
    const text = Array.isArray(value) ? value.join(SEPARATORS[prop] ?? ",") : value;
    attributes[attribute] = text === true ? "" : `${text}`;
  }
  return attributes;
}

/**
 * Calls `handlerOf(name)`, if there is one, with the detail of each event of the element. The
 * handler `click` may return false to keep the browser on the page. `addToCart` fills the cart;
 * the button waits for its promise. Returns the function that stops.
 */
export function listen(element, handlerOf) {
  const stops = ["loaded", "empty", "error", "impression", "click", "add-to-cart"].map((event) => {
    const handle = (fired) => {
      const handler = handlerOf(event === "add-to-cart" ? "addToCart" : event);
      if (!handler) return;
      const answer = handler(fired.detail);
      if (event === "add-to-cart") {
        fired.preventDefault();
        fired.detail.waitUntil(Promise.resolve(answer));
      } else if (event === "click" && answer === false) {
        fired.preventDefault();
      }
    };
    element.addEventListener(`product-recs:${event}`, handle);
    return () => element.removeEventListener(`product-recs:${event}`, handle);
  });
  return () => stops.forEach((stop) => stop());
}
