// /widget/v1/look-{store_domain}.js

import { start } from "../core/start";
import { elementOf } from "./element";

start("look", (core) => {
  if (!customElements.get("product-look")) customElements.define("product-look", elementOf(core));
});
