// /widget/v1/_/tools.js: loaded by the scripts of a page with ?pr_debug=1 or ?pr_preview=1,
// before they send a request.

import { Overlay } from "./overlay";
import { previewed } from "./preview";
import { Watch } from "./watching";

const core = window.ProductRecs?.core;
if (core) {
  const isPreview = /[?&]pr_preview=1/.test(location.search);
  const overlay = new Overlay(core, STORE?.version ?? "", isPreview);
  const instead = isPreview ? previewed : () => null;
  overlay.watch = new Watch(core.facts.base, instead, overlay.soon);
  overlay.soon();
}
