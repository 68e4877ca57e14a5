// The buttons of a carousel. It never scrolls by itself; by touch it scrolls without a script.

import { draw, icon } from "../core/drawing";
import type { Words } from "../core/config";

const BACK = "M15 5l-7 7 7 7";
const MOSTLY = 0.9;
const ON = "M9 5l7 7-7 7";

/**
 * The buttons, and a function that starts tracking the list's position once it is in the page.
 */
export interface Arrows {
  readonly nav_: HTMLElement;
  begin_(): void;
}

/** Returns two buttons that scroll `list` by its visible width; at an end one is disabled. */
export function arrows(list: HTMLElement, words: Words): Arrows {
  const button = (label: string, path: string, way: number): HTMLButtonElement => {
    const attributes = { class: "round", part: "nav-button", "aria-label": label };
    const made = draw("button", attributes, icon(path));
    made.addEventListener("click", () => {
      if (made.ariaDisabled === "true") return;
      const side = list.matches(":dir(rtl)") ? -way : way;
      list.scrollBy({ left: side * list.clientWidth });
    });
    return made;
  };
  const back = button(words.previous, BACK, -1);
  const on = button(words.next, ON, 1);
  const nav = draw("div", "nav", back, on);

  // An observer reports which end is visible; there is no scroll listener.
  const begin = (): void => {
    const [first, last] = [list.firstElementChild!, list.lastElementChild!];
    const ends = new Map<Element, boolean>();
    const observer = new IntersectionObserver(
      (changes) => {
        if (!list.isConnected) return observer.disconnect();
        for (const one of changes) ends.set(one.target, one.intersectionRatio >= MOSTLY);
        back.ariaDisabled = `${!!ends.get(first)}`;
        on.ariaDisabled = `${!!ends.get(last)}`;
        nav.style.visibility = ends.get(first) && ends.get(last) ? "hidden" : "";
      },
      { root: list, threshold: MOSTLY },
    );
    observer.observe(first);
    observer.observe(last);
  };
  return { nav_: nav, begin_: begin };
}
