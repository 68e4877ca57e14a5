// The one global of a page, whichever of its scripts comes first.

import { Core, type Fields } from "./core";
import { readFacts } from "./facts";
import { turn } from "./turns";

interface Global {
  track(event: string, payload?: Fields): void;
  consent(granted: boolean): void;
  reset(): void;
  /** Calls that came before the script did. */
  q?: Iterable<unknown>[];
  /** What the scripts of a page share. */
  core?: Core;
  /** Which scripts run already. */
  parts?: Record<string, boolean>;
}

declare global {
  interface Window {
    ProductRecs?: Partial<Global>;
  }
}

// Whoever looks after the shop sees what the widgets do, or what they might look like.
const TOOLS = /[?&]pr_(debug|preview)=1/;

/**
 * Begins a script: calls `run`, in a task of its own, with what the page's scripts share,
 * unless it runs already. Nothing that goes wrong in it reaches the page.
 */
export function start(part: string, run: (core: Core) => void): void {
  const ours = (window.ProductRecs ??= {});
  const parts = (ours.parts ??= {});
  const core = (ours.core ??= install(ours));
  if (parts[part]) {
    core.warn(`"${part}" loaded twice`);
    return;
  }
  parts[part] = true;
  const go = (): void => core.attempt(() => run(core));
  // A build that knows no store is one that a page pinned: it loads nothing else.
  const needsTools = STORE?.key && TOOLS.test(location.search);
  // Before the first question, so that they see all.
  (needsTools ? import(`${core.facts.base}/widget/v1/_/tools.js`) : turn(0)).then(go, go);
}

function install(ours: Partial<Global>): Core {
  const core = new Core(readFacts());
  const waiting = ours.q ?? [];
  ours.track = (event, payload = {}) => core.track(event, payload);
  ours.consent = (granted) => core.attempt(() => core.consent.say(granted));
  ours.reset = () => core.attempt(() => core.reset());
  delete ours.q;
  for (const call of waiting) ours.track(...(call as [string, Fields]));
  return core;
}
