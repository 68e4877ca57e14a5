// What a script knows when it starts: the data that the service wrote into it, and its own tag.

/** The service's data about the store. */
export interface StoreFacts {
  /** The publishable key; empty in a build that serves every store. */
  readonly key: string;
  /** The optional calls that this service supports: `image`, `looks`, `analyze`. */
  readonly answers: readonly string[];
  /** The service's version; used by the tools only. */
  readonly version?: string;
}

export interface Facts {
  /** The service's address, without a trailing slash. */
  readonly base: string;
  /** The publishable key, if it is known without reading elements. */
  readonly key: string;
  readonly answers: readonly string[];
  /** The customer in the script's own tag. */
  readonly user: string;
}

const PATH = "/widget/v1/";

/** Returns the tag of the script that is running for the first time. */
export function ownTag(): HTMLScriptElement | null {
  const current = document.currentScript as HTMLScriptElement | null;
  return current?.src?.includes(PATH)
    ? current
    : document.querySelector<HTMLScriptElement>(`script[src*="${PATH}"]`);
}

/** Reads the data; call it while the script runs for the first time. */
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
