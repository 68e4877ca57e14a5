// Detects which products the shopper has seen: half of a card, for one second without
// interruption.

const SEEN_MS = 1_000;
const TOGETHER_MS = 250;
// In layouts with fractional pixels a half may be measured as slightly less.
const HALF = 0.499;

/**
 * Calls `seen` with cards that were seen, several at a time, each once. The returned function
 * stops this, and reports what was seen so far.
 */
export function watchSight(
  cards: readonly Element[],
  seen: (cards: readonly Element[]) => void,
): () => void {
  const unseen = new Set(cards);
  const since = new Map<Element, number>();
  const found: Element[] = [];
  let timer = 0;

  const tell = (): void => {
    clearTimeout(timer);
    timer = 0;
    if (found.length) seen(found.splice(0));
  };
  const restart = (card: Element, inSight: boolean): void => {
    clearTimeout(since.get(card));
    since.delete(card);
    if (inSight) since.set(card, setTimeout(() => note(card), SEEN_MS));
  };
  const note = (card: Element): void => {
    observer.unobserve(card);
    unseen.delete(card);
    found.push(card);
    timer ||= setTimeout(tell, TOGETHER_MS);
  };
  const observer = new IntersectionObserver(
    (changes) => {
      for (const one of changes) restart(one.target, one.intersectionRatio >= HALF);
    },
    { threshold: 0.5 },
  );
  const look = (): void => {
    const hidden = document.hidden;
    for (const card of unseen) {
      restart(card, false);
      observer.unobserve(card);
      if (!hidden) observer.observe(card);
    }
    if (hidden) tell();
  };
  look();
  // Before the outbox handles the event, so that these impressions leave with the page.
  document.addEventListener("visibilitychange", look, true);
  return () => {
    document.removeEventListener("visibilitychange", look, true);
    observer.disconnect();
    for (const wait of since.values()) clearTimeout(wait);
    tell();
  };
}
