// Splits rendering into short tasks, so that the page stays responsive.

const SHARE_MS = 6;
let began = 0;

/** Resolves to `value` in a later task, so that the page can handle input in between. */
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

/** Continues in this task while it is short, else in a later one. */
export async function pause(): Promise<void> {
  if (Date.now() - began > SHARE_MS) await turn(0);
}
