// How long is an answer waited for? No longer than this.

/** Returns what ends a request by itself, after so many milliseconds; later it does nothing. */
export function patience(milliseconds: number): AbortController {
  const stop = new AbortController();
  setTimeout(() => stop.abort(), milliseconds);
  return stop;
}
