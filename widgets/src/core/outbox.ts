// The outbox delivers each event once, although pages close and networks fail. An event is stored
// until the service has acknowledged it. The reply to a request from a closing page is lost: the
// next page sends these events again with its own. The `event_id` lets the service count each
// once.

import { patience } from "./patience";
import { randomName } from "./random";
import { withQuery } from "./reading";
import { keep, recall } from "./storage";

/** An event as it is sent: the fields of interface 2.4. */
export interface SentEvent {
  readonly event: string;
  readonly event_id: string;
  /** When it happened, in milliseconds; the service ignores it. */
  readonly at: number;
  readonly [field: string]: unknown;
}

const MOST_KEPT = 400;
const OLDEST_MS = 6 * 86_400_000;
const MOST_SENT = 50;
const MOST_BYTES = 60_000; // limit of the browser for all requests of closing pages together
const SOON_MS = 400;
const CONFIRM_MS = 5_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
const PATIENCE_MS = 10_000;
const NOT_NOW = /408|42[59]|5../;

export class Outbox {
  private readonly address_: string;
  private readonly name_: string;
  private waiting_: SentEvent[] = [];
  private timer_ = 0;
  private pause_ = FIRST_PAUSE_MS;
  private flying_: ReadonlySet<SentEvent> = new Set();
  private readonly posted_ = new WeakSet<SentEvent>(); // sent without a reader for the reply

  /** `mayKeep_` returns whether the browser's storage may be used. */
  constructor(
    base: string,
    key: string,
    private readonly mayKeep_: () => boolean,
  ) {
    this.address_ = withQuery(`${base}/v1/events`, { key });
    this.name_ = `pr_outbox_${key.slice(-8)}`;
    this.waiting_ = mayKeep_() ? this.kept_() : [];
    if (this.waiting_.length) this.flushSoon_();
    addEventListener("online", () => {
      this.pause_ = FIRST_PAUSE_MS;
      this.flushSoon_(0);
    });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.flushNow_();
    });
    addEventListener("pagehide", () => this.flushNow_());
  }

  /** Adds an event, with an id. */
  put_(event: string, fields: Readonly<Record<string, unknown>>): void {
    this.waiting_.push({ event_id: randomName(20), ...fields, event, at: Date.now() });
    this.waiting_ = this.waiting_.slice(-MOST_KEPT);
    this.save_();
    this.flushSoon_();
  }

  /**
   * Sends all events by a request that outlives the page. Its reply may be lost, so the events
   * stay stored: this page confirms them later, or the next one does.
   */
  flushNow_(): void {
    let room = MOST_BYTES;
    const isKept = (one: SentEvent): boolean => !this.flying_.has(one) && !this.posted_.has(one);
    for (const batch of this.batches_(isKept)) {
      const body = JSON.stringify(batch);
      room -= bytesOf(body);
      if (room < 0) break;
      for (const one of batch) this.posted_.add(one);
      if (!beacon(this.address_, body)) void post(this.address_, body).catch(() => 0);
    }
    if (this.waiting_.length) this.flushSoon_(CONFIRM_MS);
  }

  clear_(): void {
    this.waiting_ = [];
    keep(this.name_, "");
  }

  private flushSoon_(inMs = SOON_MS): void {
    clearTimeout(this.timer_);
    this.timer_ = setTimeout(() => void this.deliver_(), inMs);
  }

  private async deliver_(): Promise<void> {
    const [batch] = this.batches_();
    if (this.flying_.size || !batch) return;
    this.flying_ = new Set(batch);
    let wait = 0;
    try {
      wait = await this.offer_(batch);
    } catch {
      wait = this.nextPause_();
    }
    this.flying_ = new Set();
    if (this.waiting_.length) this.flushSoon_(wait);
  }

  /** Sends a batch; returns the milliseconds until the next may follow. */
  private async offer_(batch: readonly SentEvent[]): Promise<number> {
    const reply = await post(this.address_, JSON.stringify(batch));
    if (NOT_NOW.test(reply.status as unknown as string)) {
      const asked = +reply.headers.get("retry-after")! * 1_000;
      return Math.max(this.nextPause_(), asked || 0);
    }
    this.pause_ = FIRST_PAUSE_MS;
    if (reply.ok || batch.length === 1) {
      this.drop_(batch); // an event that is refused alone would always be refused
    } else {
      // One invalid event fails its whole batch, so each is then sent alone.
      for (const one of batch) await this.offer_([one]);
    }
    return 0;
  }

  private nextPause_(): number {
    const pause = this.pause_;
    this.pause_ = Math.min(2 * pause, LONGEST_PAUSE_MS);
    return pause * (0.75 + Math.random() / 2);
  }

  private *batches_(isWanted = (_: SentEvent): boolean => true): Generator<SentEvent[]> {
    let batch: SentEvent[] = [];
    let bytes = 0;
    for (const event of this.waiting_.filter(isWanted)) {
      const more = bytesOf(JSON.stringify(event));
      if (batch.length && (batch.length === MOST_SENT || bytes + more > MOST_BYTES)) {
        yield batch;
        batch = [];
        bytes = 0;
      }
      batch.push(event);
      bytes += more + 1;
    }
    if (batch.length) yield batch;
  }

  private drop_(batch: readonly SentEvent[]): void {
    const gone = new Set(batch.map((event) => event.event_id));
    this.waiting_ = this.waiting_.filter((event) => !gone.has(event.event_id));
    this.save_(gone);
  }

  /** Stores pending events, together with those of other tabs of the shop. */
  private save_(gone: Iterable<string> = []): void {
    if (!this.mayKeep_()) return;
    const known = new Set([...gone, ...this.waiting_.map((event) => event.event_id)]);
    const others = this.kept_().filter((event) => !known.has(event.event_id));
    const all = [...others, ...this.waiting_].slice(-MOST_KEPT);
    keep(this.name_, all.length ? JSON.stringify(all) : "");
  }

  private kept_(): SentEvent[] {
    try {
      // The service deduplicates ids for a week; an older event would count twice.
      const isYoung = (one: any): boolean => Date.now() - one.at < OLDEST_MS;
      return JSON.parse(recall(this.name_)!).filter(isYoung);
    } catch {
      return []; // nothing stored, or not in our format
    }
  }
}

const bytesOf = (text: string): number => new Blob([text]).size;

function beacon(address: string, body: string): boolean {
  try {
    return navigator.sendBeacon(address, body);
  } catch {
    return false; // blocked by an extension or by the page's policy
  }
}

/** Posts as plain text, which needs no preflight request. */
async function post(address: string, body: string): Promise<Response> {
  const reply = await fetch(address, {
    method: "POST",
    body,
    keepalive: bytesOf(body) <= MOST_BYTES,
    credentials: "omit",
    signal: patience(PATIENCE_MS).signal,
  });
  await reply.text(); // an unread body keeps the request open, and the next one would be refused
  return reply;
}
