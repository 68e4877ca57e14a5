// Changes of an element's height: visible content around it slides to its new place. A page
// reserves a widget's height with the stylesheet of `productrecs embed`. If the reply needs
// another height, the layout changes at once, and a transform slides the surrounding content.
// Nothing jumps, and the browser counts no layout shift.

const SLIDE_MS = 300;
/** The function that ends the motion of each element. */
const slides = new Map<HTMLElement, () => void>();

/** Calls `change`, and slides visible content around `host` to its new place. */
export function slide(host: HTMLElement, change: () => void): void {
  // A running slide continues from its visible position.
  const tops = new Map<Element, number>();
  slides.forEach((_, one) => tops.set(one, topOf(one)));
  const { top, bottom } = host.getBoundingClientRect();
  // Above the screen the browser keeps the scroll position; below it nothing is visible.
  if (top < innerHeight && bottom > 0) {
    for (let one = host.parentElement; one; one = one.parentElement) {
      for (const beside of one.children) tops.set(beside, topOf(beside));
    }
  }
  change();
  slides.forEach((end) => end());
  const duration = matchMedia("(prefers-reduced-motion)").matches ? 1 : SLIDE_MS;
  tops.forEach((was, one) => tops.set(one, was - topOf(one)));
  (tops as Map<HTMLElement, number>).forEach((by, one) => {
    const isSliding = slides.delete(one);
    if (!by) return;
    // An element moves with its container.
    const from = by - (tops.get(one.parentElement!) ?? 0);
    const play = (): void => {
      const translate = [`0 ${from}px`, "none"];
      const moved = one.animate({ translate }, { duration, composite: "add" });
      slides.set(one, () => moved.cancel());
    };
    if (!isSliding) return play();
    // Chromium counts a layout change of an animated element, even if its visible position stays:
    // so no animation runs in the frame of the change.
    const { style } = one;
    const end = (): string => (style.translate = "");
    style.translate = `0 ${from}px`;
    slides.set(one, end);
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        if (slides.get(one) !== end) return;
        end();
        play();
      }),
    );
  });
}

const topOf = (one: Element): number => one.getBoundingClientRect().top;
