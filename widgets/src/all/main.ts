// /widget/v1/_/all.<digest>.js: the three in one, which share what each alone carries.

import "../recs/main";
import "../search/main";
import "../look/main";
