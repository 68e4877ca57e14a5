// The one global of a page, created by whichever script runs first.

import { Core, type Fields } from "./core";
import { readFacts } from "./facts";
import { turn } from "./turns";

interface Global {
  track(event: string, payload?: Fields): void;
  consent(granted: boolean): void;
  reset(): void;
  /** Calls that were made before the script loaded. */
  q?: Iterable<unknown>[];
  /** What the scripts of a page share. */
  core?: Core;
  /** The scripts that have started. */
  parts?: Record<string, boolean>;
}

declare global {
  interface Window {
    ProductRecs?: Partial<Global>;
  }
}

// Parameters of a page that load the tools: those for developers and merchants, and those of
// the link of an assistant or of a mail. The tools look closer.
const TOOLS = /[?&]pr_[dpm]|m=assistant/;

/**
 * Starts a script: calls `run` in a task of its own with the shared core, unless the script runs
 * already. Its errors do not reach the page.
 */
export function start(part: string, run: (core: Core) => void): void {
  const ours = (window.ProductRecs ??= {});
  const parts = (ours.parts ??= {});
  const core = (ours.core ??= install(ours));
  if (parts[part]) {
    core.warn(`${part} loaded twice`);
    return;
  }
  parts[part] = true;
  const go = (): void => core.attempt(() => run(core));
  // A build without a store is pinned by its page: it loads nothing else.
  const needsTools = STORE?.key && TOOLS.test(location.search);
  // Before the first request, so that the tools see all of them.
  (needsTools ? import(`${core.facts.base}/widget/v1/_/tools.js`) : turn(0)).then(go, go);
}

function install(ours: Partial<Global>): Core {
  const core = new Core(readFacts());
  const waiting = ours.q ?? [];
  ours.track = (event, payload = {}) => core.track(event, payload);
  ours.consent = (granted) => core.consent.say(granted);
  ours.reset = () => core.reset();
  delete ours.q;
  for (const call of waiting) ours.track(...(call as [string, Fields]));
  return core;
}
