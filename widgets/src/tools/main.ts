// /widget/v1/_/tools.js: loaded by the scripts of a page with ?pr_debug=1 or ?pr_preview=1, and
// of one that the link of an assistant or of a mail leads to, before they send a request.

import { countArrival } from "./arrival";
import { Overlay } from "./overlay";
import { previewed } from "./preview";
import { Watch } from "./watching";

const core = window.ProductRecs?.core;
if (core) {
  countArrival(core, location.search);
  const isPreview = /[?&]pr_preview=1/.test(location.search);
  if (isPreview || /[?&]pr_debug=1/.test(location.search)) {
    const overlay = new Overlay(core, STORE?.version ?? "", isPreview);
    const instead = isPreview ? previewed : () => null;
    overlay.watch = new Watch(core.facts.base, instead, overlay.soon);
    overlay.soon();
  }
}
