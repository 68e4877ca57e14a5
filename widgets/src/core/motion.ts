// Changes of an element's height: what is in sight around it slides to its new place.
//
// A page reserves a widget's height with the stylesheet that `productrecs embed` prints. Where
// the answer needs another height, the layout changes at once, and a transform that ends moves
// what stands around: nothing jumps, and the browser counts no layout shift.

const SLIDE_MS = 300;
/** What ends the motion of each element. */
const slides = new Map<HTMLElement, () => void>();

/** Calls `change`, and lets what stands around `host` slide where it moves in sight. */
export function slide(host: HTMLElement, change: () => void): void {
  // What slides already goes on from where it is seen.
  const tops = new Map<Element, number>();
  slides.forEach((_, one) => tops.set(one, topOf(one)));
  const { top, bottom } = host.getBoundingClientRect();
  // Above the screen the browser keeps what is read in its place; below it nobody looks.
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
    // An element goes with what it is in.
    const from = by - (tops.get(one.parentElement!) ?? 0);
    const play = (): void => {
      const translate = [`0 ${from}px`, "none"];
      const moved = one.animate({ translate }, { duration, composite: "add" });
      slides.set(one, () => moved.cancel());
    };
    if (!isSliding) return play();
    // Chromium counts a layout change of what is animated, even where it stays in its place:
    // in the frame of the change nothing is animated.
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
