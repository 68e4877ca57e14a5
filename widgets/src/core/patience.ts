// How long is an answer waited for? No longer than this.

// A gap stays three seconds at most, and what stands below it takes 0.3 to slide up.
const RELEASE_MS = 2_600;

/**
 * Returns what ends a request by itself, after so many milliseconds; later it does nothing.
 * Without a number it is when a widget gives its reserved place back.
 */
export function patience(milliseconds = RELEASE_MS): AbortController {
  const stop = new AbortController();
  setTimeout(() => stop.abort(), milliseconds);
  return stop;
}
