// The browser's storage. Blocked or full storage is not an error.

export function recall(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Stores a text under a name; an empty one is deleted. */
export function keep(name: string, value: string): void {
  try {
    if (value) localStorage.setItem(name, value);
    else localStorage.removeItem(name);
  } catch {
    // Private window or full disk: continue without storage.
  }
}
