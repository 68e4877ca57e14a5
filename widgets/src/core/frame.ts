// The frame that a widget renders into: its shadow tree, its styles, and its settings.

import cards from "./cards.css";
import type { Look } from "./config";
import { draw, style } from "./drawing";

/** The element's own text, shown until there is content. */
export const OWN = ":scope > :not(template)";

/**
 * Renders `content` into the element's shadow tree with the shop's settings, in place of the
 * children.
 */
export function frame(host: HTMLElement, look: Look, css: string, content: HTMLElement): void {
  const root = host.shadowRoot!;
  style(root, cards, css, look.custom_css);
  if (!look.scoped) style(document, look.custom_css);
  content.classList.add("w");
  content.dataset.theme = look.theme;
  const set = {
    columns: look.columns,
    mobile: look.columns_mobile,
    gap: `${look.gap}px`,
    radius: `${look.corner_radius}px`,
    ratio: look.image_ratio,
    fit: look.image_fit,
    accent: look.accent_color,
  };
  for (const [name, value] of Object.entries(set)) {
    content.style.setProperty(`--c-${name}`, value as string | null); // null: not set
  }
  root.replaceChildren(content);
}

/** Shows the children of the element, as without a script. */
export function showChildren(host: HTMLElement): void {
  host.shadowRoot!.replaceChildren(draw("slot", {}));
}
