// /widget/v1/{store_domain}.js

import { Page } from "../core/page";
import { start } from "../core/start";
import { elementOf } from "./element";

start("recs", (core) => {
  core.page ??= new Page();
  customElements.define("product-recs", elementOf(core));
});
