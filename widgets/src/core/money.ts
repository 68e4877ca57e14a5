// Formats prices for the shop's readers.

import type { Look } from "./config";

// How the service writes 1234: the thousands separator, the decimal mark, and the cents.
const FORM = /1(\D?)234(?:(\D)(0+))?/;

/**
 * Returns a price in the locale of the settings; without a known format the browser formats it.
 * The service's format is preferred: the browser's first formatted price takes as long as the
 * rest of a list, and cannot be split into tasks.
 */
export function money(amount: number, { currency, locale, strings }: Look): string {
  const told = `${strings.price}`;
  const [form, group, point, cents = ""] = FORM.exec(told) ?? [];
  const exact = amount.toFixed(cents.length);
  // Sums have rounding errors. Without a separator in 1234 the format is known below 10,000 only.
  if (form && Math.abs(+exact - amount) < 1e-6 && (group || amount < 1e4)) {
    const [whole, rest] = exact.split(".");
    const grouped = whole!.replace(/\B(?=(...)+$)/g, group!);
    return told.replace(form, rest ? grouped + point + rest : grouped);
  }
  for (const language of [locale, []]) {
    try {
      return amount.toLocaleString(language, { style: "currency", currency });
    } catch {
      // The locale or the currency does not exist.
    }
  }
  return `${amount}`;
}

/** Returns the language of the page around an element; empty if it has none. */
export function languageOf(element: Element): string {
  return element.closest<HTMLElement>("[lang]")?.lang.replace(/_/g, "-") ?? "";
}

/**
 * Returns the locale for prices: the page's, else the shop's. If both are the same language, the
 * one with a region is used: `en-GB` rather than `en`.
 */
export function localeOf(ofPage: string, ofShop: string): string {
  const isVaguer = ofShop.toLowerCase().startsWith(`${ofPage.toLowerCase()}-`);
  return !ofPage || isVaguer ? ofShop : ofPage;
}
