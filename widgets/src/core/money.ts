// How is a price written? As the shop's readers write it.

import type { Look } from "./config";
import { turn } from "./turns";

const writers = new Map<string, Intl.NumberFormat>();

/** Returns a price in words of `locale`; one that nobody knows is the browser's own. */
export function money(amount: number, currency: string, locale: string): string {
  const name = `${locale} ${currency}`;
  let writer = writers.get(name);
  if (!writer) writers.set(name, (writer = writerOf(currency, locale)));
  return writer.format(amount);
}

/** Does ahead, in a task of its own, what a page's first price takes: as long as ten cards. */
export function expectPrices({ currency, locale }: Look): void {
  void turn(0).then(() => money(0, currency, locale));
}

function writerOf(currency: string, locale: string): Intl.NumberFormat {
  for (const language of [locale, undefined]) {
    try {
      return new Intl.NumberFormat(language, { style: "currency", currency });
    } catch {
      // No such locale, or no such currency.
    }
  }
  return new Intl.NumberFormat();
}

/** Returns the language that the page says an element is in; empty where it says nothing. */
export function languageOf(element: Element): string {
  return element.closest<HTMLElement>("[lang]")?.lang.replace(/_/g, "-") ?? "";
}

/**
 * Returns the locale for prices: that of the page, else the shop's. Where both are one
 * language, the one that names a region wins: `en-GB` says more than `en`.
 */
export function localeOf(ofPage: string, ofShop: string): string {
  const isVaguer = ofShop.toLowerCase().startsWith(`${ofPage.toLowerCase()}-`);
  return !ofPage || isVaguer ? ofShop : ofPage;
}
