// What does an element ask for? Its attributes, read once for each question.

import type { Look } from "../core/config";
import type { Core } from "../core/core";
import { withQuery } from "../core/reading";
import { sessionId } from "../core/session";

export interface Request {
  readonly key: string;
  /** Whose look it has, and what its events say of where they come from. */
  readonly type: string;
  readonly item: string;
  readonly items: string;
  readonly source: string;
  readonly user: string;
  readonly customer: string;
}

/** The attributes that change what is asked for, or how it is drawn. */
export const ATTRIBUTES = [
  "data-key", "data-type", "data-item-id", "data-item-ids", "data-source", "data-num",
  "data-layout", "data-title", "data-user-id", "data-customer-id", "lang",
];
export const MOST = 20;
/** How many products a bundle has besides the page's own. */
export const ADD_ONS = 3;

export function requestOf(host: HTMLElement, core: Core): Request {
  const given = host.dataset;
  const source = given.source ?? "";
  const type = given.type || (source === "trending" ? source : "recs");
  return {
    key: core.keyOf(host),
    type,
    item: given.itemId ?? "",
    items: given.itemIds ?? "",
    source: source || (type === "fbt" ? "buy" : type === "trending" ? type : ""),
    user: core.customer(given.userId),
    customer: core.customer(given.customerId) || core.user,
  };
}

/** Returns how a list probably looks, to keep its place before the service has said. */
export function lookBefore({ type }: Request): Look {
  const before: Partial<Look> = {
    layout: type,
    title: " ",
    columns: 4,
    columns_mobile: 2,
    num: 8,
    gap: 16,
    corner_radius: 8,
    image_ratio: "1 / 1",
    show_price: true,
    show_add_to_cart: type === "cart",
    scoped: true,
  };
  return before as Look;
}

/** Returns the address that answers; without consent it names nobody. */
export function addressOf(request: Request, look: Look, core: Core): string {
  const { key, source, customer } = request;
  const isBundle = look.layout === "fbt";
  const most = isBundle ? ADD_ONS : MOST;
  const num = Math.min(look.num, most);
  const known = core.consent.given;
  const user = known && (request.user || sessionId());
  const { base } = core.facts;
  if (source === "trending") {
    return withQuery(`${base}/v1/trending`, { num, user_id: known && sessionId(), key });
  }
  return withQuery(`${base}/v1/recommendations`, {
    item_id: request.item,
    item_ids: request.items,
    user_id: user,
    customer_id: known && customer,
    num,
    source,
    anchor: isBundle && !!request.item, // a bundle begins with the page's own product
    key,
  });
}
