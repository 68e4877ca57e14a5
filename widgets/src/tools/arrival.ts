// A shopper whom the link of an assistant or of a mail sent: the product of that page counts as
// clicked. The service counts a mail's click itself where it knows the reader; only the other
// links have `pr_mail`, with the slot's name.

import type { Core } from "../core/core";

const LONGEST = 99;

/** Counts a click on the first product that the page reports as viewed. */
export function countArrival(core: Core, search: string): void {
  const sent = new URLSearchParams(search);
  const slot = sent.get("pr_mail");
  const source = slot ? "mail" : sent.get("utm_medium");
  if (!slot && source !== "assistant") return;
  const widget = `${source}-${slot || sent.get("utm_source") || source}`.slice(0, LONGEST);
  const track = core.track;
  core.track = (event, fields, key) => {
    track.call(core, event, fields, key);
    if (event !== "detail-page-view") return;
    core.track = track;
    core.track("rec-click", { item_id: fields.item_id, source, widget }, key);
  };
}
