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

/** Returns how many products a list shows. */
export const numOf = (look: Look): number =>
  Math.min(look.num, look.layout === "fbt" ? ADD_ONS : MOST);

/**
 * Returns the address that answers with `num` products, without `exclude`; without consent it
 * names nobody.
 */
export function addressOf(
  request: Request,
  look: Look,
  core: Core,
  num: number,
  exclude: string,
): string {
  const { key, source, customer } = request;
  const shown = numOf(look);
  const known = core.consent.given;
  const user = known && (request.user || sessionId());
  const { base } = core.facts;
  if (source === "trending") {
    return withQuery(`${base}/v1/trending`, { num, user_id: known && sessionId(), exclude, key });
  }
  return withQuery(`${base}/v1/recommendations`, {
    item_id: request.item,
    item_ids: request.items,
    user_id: user,
    customer_id: known && customer,
    num,
    shown: num > shown && shown,
    exclude,
    source,
    anchor: look.layout === "fbt", // a bundle begins with the page's own product
    key,
  });
}
