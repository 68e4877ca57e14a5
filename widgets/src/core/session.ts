// The session id of an anonymous shopper (interface 5, rule 6).

import { randomName } from "./random";
import { keep, recall } from "./storage";

const NAME = "pr_sid";
const FORM = /^s_[a-z\d]{1,253}$/i;
let inMemory = "";

/** Returns the session's id; it is created at its first use. */
export function sessionId(): string {
  const kept = recall(NAME);
  if (kept && FORM.test(kept)) return (inMemory = kept);
  inMemory ||= `s_${randomName(24)}`;
  keep(NAME, inMemory);
  return inMemory;
}

export function forgetSession(): void {
  keep(NAME, (inMemory = ""));
}
