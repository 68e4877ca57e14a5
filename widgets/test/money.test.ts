import assert from "node:assert/strict";
import test from "node:test";
import type { Look } from "../src/core/config";
import { localeOf, money } from "../src/core/money";

const written = (amount: number, currency: string, locale: string, price?: string): string =>
  money(amount, { currency, locale, strings: { price } } as Look);

// USD, EUR, JPY, PLN and SAR, as English, German, Japanese and Arabic write them. Blanks that
// do not break are written as blanks here, and marks of direction are left out.
const WRITTEN: Record<string, Record<string, string>> = {
  en: { USD: "$1,234.50", EUR: "€1,234.50", JPY: "¥1,235", PLN: "PLN 1,234.50", SAR: "SAR 1,234.50" },
  de: { USD: "1.234,50 $", EUR: "1.234,50 €", JPY: "1.235 ¥", PLN: "1.234,50 PLN", SAR: "1.234,50 SAR" },
  ja: { USD: "$1,234.50", EUR: "€1,234.50", JPY: "￥1,235", PLN: "PLN 1,234.50", SAR: "SAR 1,234.50" },
};

for (const [locale, prices] of Object.entries(WRITTEN)) {
  for (const [currency, text] of Object.entries(prices)) {
    test(`${currency} in ${locale}`, () => {
      assert.equal(written(1234.5, currency, locale).replace(/\s/g, " "), text);
    });
  }
}

test("Arabic has its own form of each currency", () => {
  const forms = ["USD", "EUR", "JPY", "PLN", "SAR"].map((one) => written(1234.5, one, "ar"));
  assert.equal(new Set(forms).size, 5);
  for (const form of forms) assert.match(form, /[\u0660-\u0669]|\d/);
});

test("a locale or currency that nobody knows is no error", () => {
  assert.match(written(5, "EUR", "not a locale"), /5/);
  assert.match(written(5, "no currency", "en"), /5/);
});

test("what the service told of a locale is followed, where it says all", () => {
  const told = (amount: number, price: string): string => written(amount, "EUR", "en", price);

  assert.equal(told(1234567.5, "1.234,00 €"), "1.234.567,50 €");
  assert.equal(told(0.05, "€ 1'234.00"), "€ 0.05");
  assert.equal(told(12345, "¥1,234"), "¥12,345");
  assert.equal(told(1234, "1234,00 zł"), "1234,00 zł");
  for (const [amount, price] of [
    [12345, "1234,00 zł"], // which may stand apart from here on
    [9.5, "¥1,234"],
    [5, "١٬٢٣٤٫٠٠"],
    [5, "a merchant's word"],
  ] as const) {
    assert.equal(told(amount, price), written(amount, "EUR", "en"));
  }
});

test("the page's language wins, unless the shop says the same more exactly", () => {
  assert.equal(localeOf("", "de"), "de");
  assert.equal(localeOf("fr", "de"), "fr");
  assert.equal(localeOf("en", "en-GB"), "en-GB");
  assert.equal(localeOf("en-US", "en-GB"), "en-US");
});
