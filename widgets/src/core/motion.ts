// Changes of an element's height: what is in sight around it slides to its new place.
//
// A page reserves a widget's height with the stylesheet that `productrecs embed` prints. Where
// the answer needs another height, the layout changes at once, and a transform that ends moves
// what stands around: nothing jumps, and the browser counts no layout shift.

const SLIDE_MS = 300;
const slides = new Map<Element, Animation>();

/** Calls `change`, and lets what stands around `host` slide where it moves in sight. */
export function slide(host: HTMLElement, change: () => void): void {
  // What slides already goes on from where it is seen: two motions at once would not add up.
  const tops = new Map<Element, number>();
  slides.forEach((_, one) => tops.set(one, topOf(one)));
  const { top, bottom } = host.getBoundingClientRect();
  // Above the screen the browser keeps what is read in its place; below it nobody looks.
  if (top < innerHeight && bottom > 0) {
    for (let one: Element | null = host; one; one = one.parentElement) {
      for (const beside of one.parentElement?.children ?? []) tops.set(beside, topOf(beside));
    }
  }
  change();
  slides.forEach((one) => one.cancel());
  slides.clear();
  const isStill = matchMedia("(prefers-reduced-motion)").matches;
  tops.forEach((was, one) => tops.set(one, was - topOf(one)));
  tops.forEach((by, one) => {
    // An element goes with what it is in.
    const from = `translateY(${by - (tops.get(one.parentElement!) ?? 0)}px)`;
    const options = { duration: isStill ? 1 : SLIDE_MS, composite: "add" } as const;
    if (by) slides.set(one, one.animate({ transform: [from, "none"] }, options));
  });
}

const topOf = (one: Element): number => one.getBoundingClientRect().top;
