// /widget/v1/look-{store_domain}.js

import { start } from "../core/start";
import { elementOf } from "./element";

start("look", (core) => {
  customElements.define("product-look", elementOf(core));
});
