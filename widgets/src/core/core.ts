// What all widgets of a page share: one shopper, one outbox, one set of settings.

import { type Look, lookOf } from "./config";
import { Consent } from "./consent";
import type { Facts } from "./facts";
import { Outbox } from "./outbox";
import type { Page } from "./page";
import { read, withQuery } from "./reading";
import { forgetSession, sessionId } from "./session";
import { turn } from "./turns";

/** Fields of an event, with the names of interface 2.4. */
export type Fields = Readonly<Record<string, unknown>>;

interface Held {
  readonly key: string;
  readonly event: string;
  readonly fields: Fields;
}

const MOST_HELD = 100;
const MAIL = /^\S+@\S+\.\S/;

export class Core {
  readonly consent: Consent;
  /** The lists of this page; created by the first script that renders one. */
  page!: Page;
  /** The customer that the page names, if any. */
  user: string;
  private readonly outboxes_ = new Map<string, Outbox>();
  private readonly looks_ = new Map<string, Promise<Look>>();
  private held_: Held[] = [];
  private place_ = "";
  private viewed_ = new Set<string>();
  private readonly warned_ = new Set<string>();

  constructor(readonly facts: Facts) {
    this.user = this.customer(facts.user);
    this.consent = new Consent(() => this.consentChanged_());
    void turn(facts.key).then((key) => {
      if (key && this.consent.given) this.outbox_(key); // events of a page that was closed
    });
  }

  /** Returns the key of an element, else the store's. */
  keyOf(element?: HTMLElement): string {
    return (
      element?.dataset.key ||
      this.facts.key ||
      document.querySelector<HTMLElement>("[data-key^=pk_]")?.dataset.key ||
      ""
    );
  }

  /** The signed identity of the page's customer: on the script's tag, or on any element. */
  get identity(): string | undefined {
    return document.querySelector<HTMLElement>("[data-identity]")?.dataset.identity;
  }

  /** Returns a customer's id; an e-mail address is ignored. */
  customer(given = ""): string {
    if (!MAIL.test(given)) return given;
    this.warn("unknown e-mail id");
    return "";
  }

  /** Returns the settings of a widget type; requested once per language and price list. */
  look(key: string, type: string, lang: string, price_list?: string | null): Promise<Look> {
    const query = { type, lang, key, price_list };
    const address = withQuery(`${this.facts.base}/v1/widget-config`, query);
    let found = this.looks_.get(address);
    if (!found) {
      found = read(address).then(({ body_ }) => lookOf(body_));
      found.catch((error) => {
        this.looks_.delete(address); // the next request may succeed
        if (/401/.test(error)) {
          this.warn(`unknown data-key ${key}`);
        }
      });
      this.looks_.set(address, found);
    }
    return found;
  }

  /** Sends an event. Until consent is given the event waits; after a refusal it is dropped. */
  track(event: string, fields: Fields, key = this.keyOf()): void {
    this.attempt(() => this.put_(event, fields, key));
  }

  private put_(event: string, fields: Fields, key: string): void {
    if (this.consent.given) {
      this.outbox_(key).put_(event, {
        ...fields,
        user_id: this.customer(fields.user_id as string | undefined) || this.user || undefined,
        session_id: fields.session_id || sessionId(),
        identity: this.identity,
      });
    } else if (!this.consent.refused) {
      this.held_.push({ key, event, fields });
      this.held_ = this.held_.slice(-MOST_HELD);
    }
  }

  /** Sends pending events at once, because the page may close. */
  hurry(): void {
    for (const outbox of this.outboxes_.values()) outbox.flushNow_();
  }

  /** Reports a view of a product's page, once per product and navigation. */
  view(item: string, fields: Fields, key: string): void {
    if (this.place_ !== location.href) {
      this.place_ = location.href;
      this.viewed_.clear();
    }
    if (this.viewed_.has(item)) return;
    this.viewed_.add(item);
    this.track("detail-page-view", { ...fields, item_id: item }, key);
  }

  /** Deletes the shopper's id and the events that were not sent yet. */
  reset(): void {
    forgetSession();
    this.held_ = [];
    for (const outbox of this.outboxes_.values()) outbox.clear_();
  }

  /** Runs a function whose errors must not reach the page. */
  attempt(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.warn(`${error}`);
    }
  }

  /** Logs a message for the shop's developer, once. */
  warn(message: string): void {
    if (this.warned_.has(message)) return;
    this.warned_.add(message);
    console.warn(`ProductRecs: ${message}`);
  }

  private outbox_(key: string): Outbox {
    let outbox = this.outboxes_.get(key);
    if (!outbox) {
      outbox = new Outbox(this.facts.base, key, () => this.consent.given);
      this.outboxes_.set(key, outbox);
    }
    return outbox;
  }

  private consentChanged_(): void {
    if (this.consent.given) {
      for (const { event, fields, key } of this.held_.splice(0)) this.track(event, fields, key);
    } else if (this.consent.refused) {
      this.reset();
    }
    document.dispatchEvent(new CustomEvent("product-recs:consent"));
  }
}
