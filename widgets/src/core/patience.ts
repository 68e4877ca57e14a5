// The timeout of requests.

// A reserved gap stays for three seconds at most, of which the slide takes 0.3.
const RELEASE_MS = 2_600;

/**
 * Returns a controller that aborts after so many milliseconds. The default is the time after
 * which a widget releases its reserved height.
 */
export function patience(milliseconds = RELEASE_MS): AbortController {
  const stop = new AbortController();
  setTimeout(() => stop.abort(), milliseconds);
  return stop;
}
