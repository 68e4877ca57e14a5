// /widget/v1/_/all.<digest>.js: all three widgets in one script, with one copy of the shared
// code.

import "../recs/main";
import "../search/main";
import "../look/main";
