// How does a page stay quick while we draw into it? Each piece of work is a task of its own.

const SHARE_MS = 6;
let began = 0;

/** Resolves to `value` in a later task, so that the page can answer its reader in between. */
export function turn<T>(value: T): Promise<T> {
  const { scheduler } = window as { scheduler?: Scheduler };
  return new Promise((done) => {
    const begin = (): void => {
      began = Date.now();
      done(value);
    };
    if (scheduler) void scheduler.postTask(begin);
    else setTimeout(begin);
  });
}

/** Goes on at once while this task is short, else in a later one. */
export async function pause(): Promise<void> {
  if (Date.now() - began > SHARE_MS) await turn(0);
}
