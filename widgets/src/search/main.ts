// /widget/v1/search-{store_domain}.js

import { ownTag } from "../core/facts";
import { start } from "../core/start";
import { SearchBox } from "./box";

const USUAL =
  "input[type=search], input[name=q], input[name=s], input[name=search], input[name=search_query]";

const wanted = ownTag()?.dataset.input || USUAL;

start("search", (core) => {
  const known = new WeakSet<Element>();
  const join = (box: Element | null): void => {
    if (!(box instanceof HTMLInputElement) || known.has(box)) return;
    known.add(box);
    core.attempt(() => new SearchBox(box, core));
  };
  const joinAll = (): void => document.querySelectorAll(wanted).forEach(join);
  joinAll();
  document.addEventListener("DOMContentLoaded", joinAll);
  // Boxes that the theme draws later are met when they are used.
  document.addEventListener("focusin", ({ target }) => {
    if (target instanceof Element && target.matches(wanted)) join(target);
  });
});
