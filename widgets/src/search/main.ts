// /widget/v1/search-{store_domain}.js

import { start } from "../core/start";

start("search", () => undefined);
