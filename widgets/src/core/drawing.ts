// How is a page's tree made? From nodes only: text stays text, whatever it looks like.

type Child = Node | string | null | undefined | false;

/**
 * Returns an element. `part` names it for the theme's stylesheet, `class` for ours; where
 * both are one name, that is enough.
 */
export function draw<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  told: Readonly<Record<string, string | null | false>> | string,
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  const attributes = typeof told === "string" ? { class: told, part: told } : told;
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value || value === "") element.setAttribute(attribute, value);
  }
  element.append(...children.filter((one): one is Node | string => !!one));
  return element;
}

/** Returns a stroked picture of 24 by 24 that screen readers pass over. */
export function icon(path: string): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

const sheets = new Map<string, CSSStyleSheet>();

/**
 * Puts rules into force in a tree. They are made by script, so that a page whose policy
 * forbids inline styles shows them; `@import` in them has no effect. A browser of before 2023
 * cannot: there the page stays as it was.
 */
export function style(root: Document | ShadowRoot, ...texts: (string | null)[]): void {
  const wanted = texts.filter((one): one is string => !!one).map(sheetOf);
  const { adoptedStyleSheets: known } = root;
  root.adoptedStyleSheets = [...known, ...wanted.filter((one) => !known.includes(one))];
}

function sheetOf(text: string): CSSStyleSheet {
  let sheet = sheets.get(text);
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    sheets.set(text, sheet);
  }
  return sheet;
}
