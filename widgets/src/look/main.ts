// /widget/v1/look-{store_domain}.js

import { start } from "../core/start";

start("look", () => undefined);
