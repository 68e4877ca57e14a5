// How is a price written? As the shop's readers write it.

import type { Look } from "./config";

// How the service writes 1234: what stands between thousands, the point, and the cents.
const FORM = /1(\D?)234(?:(\D)(0+))?/;

/**
 * Returns a price as the look's locale writes it; one that nobody knows is the browser's own.
 *
 * What the service told of it is followed where it says enough: the first price that a
 * browser writes itself takes as long as all else in a list, and cannot be divided.
 */
export function money(amount: number, { currency, locale, strings }: Look): string {
  const told = `${strings.price}`;
  const [form, group, point, cents = ""] = FORM.exec(told) ?? [];
  const exact = amount.toFixed(cents.length);
  // Sums are a hair off; and where four digits stand together, more do not.
  if (form && Math.abs(+exact - amount) < 1e-6 && (group || amount < 1e4)) {
    const [whole, rest] = exact.split(".");
    const grouped = whole!.replace(/\B(?=(...)+$)/g, group!);
    return told.replace(form, rest ? grouped + point + rest : grouped);
  }
  for (const language of [locale, []]) {
    try {
      return amount.toLocaleString(language, { style: "currency", currency });
    } catch {
      // No such locale, or no such currency.
    }
  }
  return `${amount}`;
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
