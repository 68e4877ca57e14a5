// Hints about problems of the page that keep widgets from working well, for the shop's developer.

import { ATTRIBUTES } from "../core/attributes";
import type { Core } from "../core/core";

const violated = new Set<string>();
document.addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) => {
  violated.add(`the page's policy forbids ${blockedURI} (${effectiveDirective})`);
});

export function hintsFor(core: Core): string[] {
  const { base } = core.facts;
  const elements = document.querySelectorAll("product-recs, product-look");
  const names = [...elements].map((one) =>
    one.shadowRoot?.querySelector("[part=widget]")?.getAttribute("aria-label"),
  );
  const twice = names.find((name, at) => name && names.indexOf(name) !== at);
  const hints: (string | false | null | undefined)[] = [
    ...violated,
    ...[...elements].flatMap(unknownOf),
    !core.keyOf() && "no key: neither the script nor an element names one",
    location.protocol === "https:" && base.startsWith("http:") &&
      `an https page may not ask ${base}: give the service an https address`,
    !document.documentElement.lang && "<html> has no lang: prices and words are the shop's default",
    !elements.length && "no <product-recs> or <product-look> is on this page",
    !document.querySelector("h1") && "no <h1>: the widgets' headings are of level 2",
    twice && `two lists are called "${twice}": data-title tells them apart`,
    !core.consent.given && "no consent: nothing is kept or sent, and lists are the same for everybody",
  ];
  return hints.filter((one): one is string => !!one);
}

// Exactly what the guide lists; the widgets' own warning in the console may miss some.
const RARE =
  /^(class|tabindex|aria-.*|data-(columns|heading-level|allow-duplicates|eager|view|ssr|upload|ratio|consent|settled|v-.*))$/;

/** Returns a hint for each attribute that an element ignores. */
function unknownOf(element: Element): string[] {
  const isUnknown = (name: string): boolean =>
    !(name in element || ATTRIBUTES.includes(name) || RARE.test(name));
  return element.getAttributeNames().filter(isUnknown).map((name) => {
    const meant = isUnknown(`data-${name}`) ? "" : `: write data-${name}`;
    return `<${element.localName}> ignores ${name}${meant}`;
  });
}
