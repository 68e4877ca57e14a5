// Renders a look: the photo with its hotspots, and a list of the same products beside it.

import { addButton, type Wanted } from "../core/button";
import { linkOf } from "../core/card";
import type { Look } from "../core/config";
import { draw, icon } from "../core/drawing";
import type { Product } from "../core/product";
import { pause } from "../core/turns";
import type { Picture, Spot } from "./reply";

const CROSS = "M6 6l12 12M18 6L6 18";
let count = 0;

/** Callbacks from a rendered look to its widget. */
export interface Told {
  clicked_(product: Product, origin: Event): void;
  readonly wanted_: Wanted;
}

export interface Stage {
  readonly content: HTMLElement;
  /** All products, and the row of each in the list. */
  readonly products: readonly Product[];
  readonly rows: readonly HTMLElement[];
}

/**
 * Renders a look, spot by spot in several tasks. `image` is the loaded picture, so that nothing
 * moves when it appears.
 */
export async function drawStage(
  picture: Picture,
  image: HTMLImageElement,
  look: Look,
  told: Told,
): Promise<Stage> {
  const products = picture.spots.flatMap((spot) => spot.products);
  const rows: HTMLElement[] = [];
  const list = draw("ul", { class: "list", part: "list", role: "list" });
  list.ariaLabel = look.strings.products;
  const isNew = picture.caption && picture.caption !== look.title; // empty, because the caption says the same
  const caption = isNew && draw("figcaption", { part: "caption" }, picture.caption);
  const photo = draw("figure", "photo", image, caption);
  image.alt = picture.caption;
  const link = (product: Product): HTMLAnchorElement => {
    const made = linkOf(product, look);
    const clicked = (event: MouseEvent): void => {
      if (event.button < 2 && made.href) told.clicked_(product, event);
    };
    made.addEventListener("click", clicked);
    made.addEventListener("auxclick", clicked);
    return made;
  };
  const isMany = picture.spots.some((spot) => spot.products.length > 1);
  for (const spot of picture.spots) {
    const [first] = spot.products;
    const button = first && hotspot(spot, link(first), photo, look);
    if (!first) list.append(missing(spot, look));
    const strip = isMany ? draw("ul", { class: "strip", role: "list" }) : list;
    if (isMany) list.append(draw("li", {}, draw("div", { class: "label" }, spot.label), strip));
    for (const product of spot.products) {
      await pause();
      const add = look.show_add_to_cart && addButton(product, look.strings, told.wanted_);
      const row = draw("li", { class: "row", part: "card" }, link(product), add);
      rows.push(row);
      strip.append(row);
      if (button) together(row, button);
    }
  }
  const stage = draw("div", { class: isMany ? "stage many" : "stage" }, photo, list);
  return { content: stage, products, rows };
}

function missing({ label }: Spot, look: Look): HTMLElement {
  const text = [label, look.strings.gone].filter(Boolean).join(": ");
  return draw("li", { class: "gone" }, text);
}

/** Adds a button to the photo that shows a product beside it; Escape closes it. */
function hotspot(spot: Spot, link: HTMLElement, photo: HTMLElement, look: Look): HTMLElement {
  const [product] = spot.products;
  const id = `pr-look-${++count}`;
  const button = draw("button", {
    class: "spot",
    part: "hotspot",
    type: "button",
    "aria-expanded": "false",
    "aria-controls": id,
    "aria-label": product?.title ?? spot.label,
  });
  const shut = draw(
    "button",
    { class: "shut", type: "button", "aria-label": look.strings.close },
    icon(CROSS),
  );
  const pop = draw("div", { class: "pop", id, part: "popover", hidden: "" }, link, shut);
  const isHigh = spot.y < 0.5;
  const percent = (share: number): string => `${100 * share}%`;
  button.style.left = percent(spot.x);
  button.style.top = percent(spot.y);
  // Below or above its spot, and within the photo; the stylesheet sets the width.
  pop.style.left = `clamp(8px, ${percent(spot.x)} - 120px, max(8px, 100% - 248px))`;
  pop.style[isHigh ? "top" : "bottom"] = `calc(${percent(isHigh ? spot.y : 1 - spot.y)} + 28px)`;
  const show = (isOpen: boolean): void => {
    pop.hidden = !isOpen;
    button.ariaExpanded = `${isOpen}`;
  };
  const away = (): void => {
    show(false);
    button.focus();
  };
  button.addEventListener("click", () => {
    const isOpen = !!pop.hidden;
    photo.dispatchEvent(new Event("shut"));
    show(isOpen);
  });
  photo.addEventListener("shut", () => show(false));
  shut.addEventListener("click", away);
  for (const one of [button, pop] as HTMLElement[]) {
    one.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !pop.hidden) away();
    });
    one.addEventListener("focusout", ({ relatedTarget: to }) => {
      if (to && to !== button && !pop.contains(to as Node)) show(false);
    });
  }
  // The boxes refer to the picture, not to its caption.
  const frame = photo.querySelector(".frame") ?? wrap(photo);
  frame.append(button, pop);
  return button;
}

function wrap(photo: HTMLElement): HTMLElement {
  const frame = draw("div", { class: "photo frame" });
  frame.append(photo.firstChild!);
  photo.prepend(frame);
  return frame;
}

/** Highlights the spot of the row under the pointer. */
function together(row: HTMLElement, button: HTMLElement): void {
  for (const name of ["pointerenter", "pointerleave", "focusin", "focusout"]) {
    row.addEventListener(name, () => {
      button.classList.toggle("lit", name === "pointerenter" || name === "focusin");
    });
  }
}
