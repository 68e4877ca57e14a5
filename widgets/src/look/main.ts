// /widget/v1/look-{store_domain}.js

import { Page } from "../core/page";
import { start } from "../core/start";
import { elementOf } from "./element";

start("look", (core) => {
  core.page ??= new Page();
  customElements.define("product-look", elementOf(core));
});
