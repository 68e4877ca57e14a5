// Renders a list: as a carousel, a grid, rows, or products bought together.

import { type Wanted, addButton } from "../core/button";
import { linkOf } from "../core/card";
import type { Look } from "../core/config";
import { draw } from "../core/drawing";
import type { Product } from "../core/product";
import { pause } from "../core/turns";
import { drawBundle } from "./bundle";
import { arrows } from "./carousel";
import { numOf } from "./request";
import { bound } from "./template";

type Template = HTMLTemplateElement | null;

/** Callbacks from a rendered list to its widget. */
export interface Told {
  /** The shop's own card template, if the element has one. */
  readonly template_: Template;
  clicked_(product: Product, origin: Event): void;
  readonly wanted_: Wanted;
  /** The price of a merchant's bundle. */
  readonly price_: number | null | undefined;
}

export interface Drawn {
  readonly content_: HTMLElement;
  /** The card of each product, for impressions. */
  readonly cards_: readonly HTMLElement[];
  /** Called when the content is in the page. */
  begin_?: (() => void) | undefined;
}

const CAROUSEL = "carousel";
const BUNDLE = "rows fbt";
const LAYOUTS: Readonly<Record<string, string>> = { grid: "grid", list: "rows", fbt: BUNDLE };
const BLANK = "\u00a0";
const NOTHING = { title: BLANK, price: null } as Product;

/**
 * Renders a list, card by card in several tasks. `own` is the product of the page, which comes
 * first in a bundle.
 */
export async function drawList(
  products: readonly Product[],
  own: Product | null,
  look: Look,
  level: number,
  told: Told,
): Promise<Drawn> {
  const layout = LAYOUTS[look.layout] ?? CAROUSEL;
  const cards: HTMLElement[] = [];
  for (const product of products) {
    await pause();
    cards.push(cardOf(product, look, told, layout === BUNDLE));
  }
  await pause();
  const list = draw("ul", { class: "list", part: "list", role: "list" }, ...cards);
  const moved = layout === CAROUSEL ? arrows(list, look.strings) : null;
  const body = layout === BUNDLE ? drawBundle(list, products, own, look, told) : list;
  const head = headOf(look, level, moved?.nav_);
  const content = section(layout, look.title || look.strings.label, head, body);
  if (moved) content.setAttribute("aria-roledescription", "carousel");
  return { content_: content, cards_: cards, begin_: moved?.begin_ };
}

/** Empty boxes before the reply, within the height that the page has reserved. */
export function drawWaiting(look: Look, level: number, template: Template): HTMLElement {
  const layout = LAYOUTS[look.layout] ?? CAROUSEL;
  const isBundle = layout === BUNDLE;
  const list = draw("ul", { class: "list" });
  const told = { template_: template } as Told;
  for (let n = 0; n < numOf(look); n++) list.append(cardOf(NOTHING, look, told, isBundle));
  const waiting = section(`${layout} wait`, "", headOf(look, level), list);
  waiting.inert = true;
  return waiting;
}

function section(
  layout: string,
  label: string,
  head: HTMLElement | null,
  body: HTMLElement,
): HTMLElement {
  const attributes = { class: layout, part: "widget", "aria-label": label || null };
  return draw("section", attributes, head, body);
}

function headOf(look: Look, level: number, nav?: HTMLElement): HTMLElement | null {
  if (!look.title && !nav) return null;
  const heading = look.title && draw(`h${level}` as "h2", "heading", look.title);
  return draw("div", { class: "head", part: "header" }, heading, nav);
}

function cardOf(
  product: Product,
  look: Look,
  told: Told,
  inBundle: boolean,
): HTMLElement {
  const { template_: template, wanted_: wanted } = told;
  const own = template ? bound(template, product, look) : linkOf(product, look);
  const add =
    look.show_add_to_cart && !inBundle && addButton(product, look.strings, wanted);
  const card = draw("li", { class: "card", part: "card", "data-id": product.id }, own, add);
  for (const link of card.querySelectorAll("a")) {
    const clicked = (event: MouseEvent): void => {
      if (event.button < 2 && link.href) told.clicked_(product, event); // 1: a new tab
    };
    link.addEventListener("click", clicked);
    link.addEventListener("auxclick", clicked);
  }
  return card;
}
