// What do all widgets of a page share? One shopper, one outbox, one set of looks.

import { type Look, lookOf } from "./config";
import { Consent } from "./consent";
import type { Facts } from "./facts";
import { Outbox } from "./outbox";
import type { Page } from "./page";
import { read, withQuery } from "./reading";
import { forgetSession, sessionId } from "./session";
import { turn } from "./turns";

/** Fields of an event as interface 2.4 names them. */
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
  /** The lists of this page; made by the first script that draws any. */
  page!: Page;
  /** The customer whom the page names, if it names one. */
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
      if (key && this.consent.given) this.outbox_(key); // what a closed page left
    });
  }

  /** Returns the key that an element names, else the store's own. */
  keyOf(element?: HTMLElement): string {
    return (
      element?.dataset.key ||
      this.facts.key ||
      document.querySelector<HTMLElement>("[data-key^=pk_]")?.dataset.key ||
      ""
    );
  }

  /** Proves that the page's customer is signed in: on the script's tag, or on any element. */
  get identity(): string | undefined {
    return document.querySelector<HTMLElement>("[data-identity]")?.dataset.identity;
  }

  /** Returns a customer's id; an e-mail address is none and is passed over. */
  customer(given = ""): string {
    if (!MAIL.test(given)) return given;
    this.warn("unknown e-mail id");
    return "";
  }

  /** Returns how widgets of a type look, and what they say; asked once for a language and list. */
  look(key: string, type: string, lang: string, price_list?: string | null): Promise<Look> {
    const query = { type, lang, key, price_list };
    const address = withQuery(`${this.facts.base}/v1/widget-config`, query);
    let found = this.looks_.get(address);
    if (!found) {
      found = read(address).then(({ body_ }) => lookOf(body_));
      found.catch((error) => {
        this.looks_.delete(address); // the next one may ask again
        if (/401/.test(error)) {
          this.warn(`unknown data-key ${key}`);
        }
      });
      this.looks_.set(address, found);
    }
    return found;
  }

  /** Sends an event; without consent it waits for it, or is forgotten where it was refused. */
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

  /** Sends at once what waits: the page may close. */
  hurry(): void {
    for (const outbox of this.outboxes_.values()) outbox.flushNow_();
  }

  /** Notes that a product's page is seen; once for each product and navigation. */
  view(item: string, fields: Fields, key: string): void {
    if (this.place_ !== location.href) {
      this.place_ = location.href;
      this.viewed_.clear();
    }
    if (this.viewed_.has(item)) return;
    this.viewed_.add(item);
    this.track("detail-page-view", { ...fields, item_id: item }, key);
  }

  /** Forgets the shopper: id, and events that were not sent yet. */
  reset(): void {
    forgetSession();
    this.held_ = [];
    for (const outbox of this.outboxes_.values()) outbox.clear_();
  }

  /** Does something of which no failure may reach the page. */
  attempt(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.warn(`${error}`);
    }
  }

  /** Says something to the shop's developer, once. */
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
