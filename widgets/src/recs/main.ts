// /widget/v1/{store_domain}.js

import { start } from "../core/start";
import { elementOf } from "./element";

start("recs", (core) => {
  customElements.define("product-recs", elementOf(core));
});
