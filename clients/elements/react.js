// <ProductRecs> for React 18 and 19.

import { createElement, useEffect, useRef } from "react";
import { PROPS, attributesOf, listen } from "./element.js";

const HANDLERS = {
  loaded: "onLoaded", empty: "onEmpty", error: "onFailed", impression: "onImpression",
  click: "onProductClick", addToCart: "onAddToCart",
};
const OWN = new Set([...PROPS, ...Object.values(HANDLERS), "className"]);

export function ProductRecs(props) {
  const element = useRef(null);
  const latest = useRef(props);
  latest.current = props; // a new handler needs no new listener
  useEffect(() => listen(element.current, (event) => latest.current[HANDLERS[event]]), []);
  const others = Object.entries(props).filter(([name]) => !OWN.has(name));
  const attributes = { ...Object.fromEntries(others), ...attributesOf(props) };
  if (props.className) attributes.class = props.className;
  return createElement("product-recs", { ...attributes, ref: element });
}
