// Creates DOM nodes. Only nodes, never HTML: text stays text, whatever it contains.

type Child = Node | string | null | undefined | false;

/**
 * Returns an element. `part` is its name for the theme's stylesheet, `class` for ours; a plain
 * string sets both.
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

/** Returns an outlined 24 by 24 icon that screen readers ignore. */
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
 * Applies CSS rules to a tree. Constructed stylesheets work where the page's policy forbids
 * inline styles; `@import` has no effect in them. Browsers from before 2023 lack them: there the
 * page stays unchanged.
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
