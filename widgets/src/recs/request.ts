// The request of an element: its attributes, read once for each request.

import type { Look } from "../core/config";
import type { Core } from "../core/core";
import { withQuery } from "../core/reading";
import { sessionId } from "../core/session";

export interface Request {
  readonly key: string;
  /** The widget type, for its settings and its events. */
  readonly type: string;
  readonly item: string;
  readonly items_: string | undefined;
  readonly source: string;
  readonly user_: string;
  /** The merchant's placement; its strategy replaces the source. */
  readonly placement_: string | null;
  /** Filters that every product must pass; separated by semicolons. */
  readonly filter_: string | null;
}

export const MOST = 20;
/** The number of a bundle's products besides the page's own. */
export const ADD_ONS = 3;

export function requestOf(host: HTMLElement, core: Core): Request {
  const given = host.dataset;
  const source = given.source ?? "";
  const placement = host.getAttribute("placement");
  const type = given.type || (source === "trending" ? source : "recs");
  return {
    key: core.keyOf(host),
    type,
    item: given.itemId ?? "",
    items_: given.itemIds,
    source: placement ? "" : source || (type === "fbt" ? "buy" : type === "trending" ? type : ""),
    // Without another id beside it, it is the customer's id, and the session is sent too.
    user_: core.customer(given.customerId && given.userId),
    placement_: placement,
    filter_: host.getAttribute("filter"),
  };
}

/** Returns how many products a list shows. */
export const numOf = (look: Look): number =>
  Math.min(look.num, look.layout === "fbt" ? ADD_ONS : MOST);

/**
 * Returns the address of a list of `num` products, without `exclude`; without consent it names no
 * shopper.
 */
export function addressOf(
  request: Request,
  look: Look,
  core: Core,
  num: number,
  exclude: string,
): string {
  const { key, source } = request;
  const filters = encodeURIComponent(request.filter_ ?? "").replace(/^(?=.)|%3B(%20)?/g, "&filter=");
  const known = core.consent.given;
  const isTrending = source === "trending"; // trending is the same for everybody: it needs nothing of the page
  return withQuery(`${core.facts.base}/v1/${isTrending ? source : "recommendations"}`, {
    ...!isTrending && {
      item_id: request.item,
      item_ids: request.items_,
      customer_id: known && core.user, // the element's own session, which it has named by now
      identity: known && core.identity,
      source,
      placement: request.placement_,
      anchor: look.layout === "fbt", // a bundle begins with the page's own product
    },
    user_id: known && (!isTrending && request.user_ || sessionId()),
    num,
    exclude,
    key,
    price_list: look.price_list,
  }) + filters;
}
