// GET requests to the service: equal ones are sent once, and each has a timeout.

import { patience } from "./patience";
import { turn } from "./turns";

/** A reply: its JSON, of any shape, and the headers that a page may read. */
export interface Reply {
  readonly body_: any;
  readonly headers_: Headers;
}

interface Asked {
  readonly reply_: Promise<Reply>;
  readonly stop_: AbortController;
  listeners_: number;
}

const asked = new Map<string, Asked>();

/**
 * Returns the service's reply at an address. Rejects without a reply within 2.6 seconds, for a
 * refusal, and when `signal` aborts. Each caller continues in a task of its own.
 */
export function read(address: string, signal?: AbortSignal): Promise<Reply> {
  const found = asked.get(address) ?? ask(address);
  found.listeners_ += 1;
  return new Promise((resolve, reject) => {
    signal?.addEventListener("abort", () => {
      found.listeners_ -= 1;
      if (!found.listeners_) found.stop_.abort();
      reject(signal.reason);
    });
    found.reply_.then(turn).then(resolve, reject);
  });
}

function ask(address: string): Asked {
  const stop = patience();
  const reply = fetch(address, { credentials: "omit", signal: stop.signal })
    .then(replyOf)
    .finally(() => asked.delete(address));
  const found = { reply_: reply, stop_: stop, listeners_: 0 };
  asked.set(address, found);
  return found;
}

/** Returns a complete reply; an error status rejects. */
export async function replyOf(got: Response): Promise<Reply> {
  if (!got.ok) throw new Error(`status ${got.status}`);
  return { body_: await got.json(), headers_: got.headers };
}

/** Returns `path` with the parameters that have a value; 0 counts as none. */
export function withQuery(
  path: string,
  parameters: Readonly<Record<string, string | number | boolean | null | undefined>>,
): string {
  const given = Object.entries(parameters).filter((one) => one[1]);
  return `${path}?${new URLSearchParams(given as string[][])}`;
}
