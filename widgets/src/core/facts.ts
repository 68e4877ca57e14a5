// What does a script know when it starts? What the service wrote into it, and its own tag.

/** What the service says of the store. */
export interface StoreFacts {
  /** The publishable key; empty in a build that serves every store. */
  readonly key: string;
  /** Which further calls this service answers: `image`, `looks`, `analyze`. */
  readonly answers: readonly string[];
  /** The service's own version; told to the tools alone. */
  readonly version?: string;
}

export interface Facts {
  /** The service's address, without a slash at its end. */
  readonly base: string;
  /** The publishable key, where it is known without looking at elements. */
  readonly key: string;
  readonly answers: readonly string[];
  /** The customer whom the script's own tag names. */
  readonly user: string;
}

const PATH = "/widget/v1/";

/** Returns the tag of the script that runs just now, for the first time. */
export function ownTag(): HTMLScriptElement | null {
  const current = document.currentScript as HTMLScriptElement | null;
  return current?.src?.includes(PATH)
    ? current
    : document.querySelector<HTMLScriptElement>(`script[src*="${PATH}"]`);
}

/** Reads the facts; call it while the script runs for the first time. */
export function readFacts(): Facts {
  const tag = ownTag();
  const told = tag?.dataset ?? {};
  return {
    base: tag?.src.split(PATH)[0] ?? location.origin,
    key: STORE?.key || told.key || "",
    answers: STORE?.answers ?? [],
    user: told.customerId || told.userId || "",
  };
}
