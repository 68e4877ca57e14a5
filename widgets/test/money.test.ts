import assert from "node:assert/strict";
import test from "node:test";
import { localeOf, money } from "../src/core/money";

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
      assert.equal(money(1234.5, currency, locale).replace(/\s/g, " "), text);
    });
  }
}

test("Arabic has its own form of each currency", () => {
  const forms = ["USD", "EUR", "JPY", "PLN", "SAR"].map((one) => money(1234.5, one, "ar"));
  assert.equal(new Set(forms).size, 5);
  for (const form of forms) assert.match(form, /[\u0660-\u0669]|\d/);
});

test("a locale or currency that nobody knows is no error", () => {
  assert.match(money(5, "EUR", "not a locale"), /5/);
  assert.match(money(5, "no currency", "en"), /5/);
});

test("the page's language wins, unless the shop says the same more exactly", () => {
  assert.equal(localeOf("", "de"), "de");
  assert.equal(localeOf("fr", "de"), "fr");
  assert.equal(localeOf("en", "en-GB"), "en-GB");
  assert.equal(localeOf("en-US", "en-GB"), "en-US");
});
