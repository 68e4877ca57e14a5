// What may a script keep in the browser? Storage that is blocked or full is no error.

export function recall(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Keeps a text under a name; an empty one is forgotten. */
export function keep(name: string, value: string): void {
  try {
    if (value) localStorage.setItem(name, value);
    else localStorage.removeItem(name);
  } catch {
    // Private windows and full disks: the page goes on without a memory.
  }
}
