// A shopper whom an assistant's link sent: the product of that page counts as clicked.

import type { Core } from "../core/core";

const MEDIUM = "assistant";
const LONGEST = 99;

/** Counts a click on the first product that the page reports as viewed. */
export function countArrival(core: Core, search: string): void {
  const sent = new URLSearchParams(search);
  if (sent.get("utm_medium") !== MEDIUM) return;
  const widget = `${MEDIUM}-${sent.get("utm_source") || MEDIUM}`.slice(0, LONGEST);
  const track = core.track;
  core.track = (event, fields, key) => {
    track.call(core, event, fields, key);
    if (event !== "detail-page-view") return;
    core.track = track;
    core.track("rec-click", { item_id: fields.item_id, source: MEDIUM, widget }, key);
  };
}
