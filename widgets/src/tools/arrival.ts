// A shopper whom the link of an assistant or of a mail sent: the product of that page counts as
// clicked. The service counts a mail's click itself where it knows the reader; only the other
// links have `pr_mail`, with the slot's name.

import type { Core } from "../core/core";

const LONGEST = 99;

/** The campaign that an assistant added to its link, as the service counts it; "" if it may
 * name a person. Keep it like `countable_value` of the service. */
function campaignOf(sent: URLSearchParams): string {
  const name = (sent.get("utm_campaign") || "").trim().toLowerCase();
  const isName = /^[\p{L}\p{N}][\p{L}\p{N}_ .+-]{0,39}$/u.test(name);
  return isName && name.replace(/\D/g, "").length < 7 ? `/${name}` : "";
}

/** Counts a click on the first product that the page reports as viewed. */
export function countArrival(core: Core, search: string): void {
  const sent = new URLSearchParams(search);
  const slot = sent.get("pr_mail");
  const source = slot ? "mail" : sent.get("utm_medium");
  if (!slot && source !== "assistant") return;
  const origin = slot || (sent.get("utm_source") || source) + campaignOf(sent);
  const widget = `${source}-${origin}`.slice(0, LONGEST);
  const track = core.track;
  core.track = (event, fields, key) => {
    track.call(core, event, fields, key);
    if (event !== "detail-page-view") return;
    core.track = track;
    core.track("rec-click", { item_id: fields.item_id, source, widget }, key);
  };
}
