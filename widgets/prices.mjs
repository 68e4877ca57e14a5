// Writes how 1234 is written as a price in each place and currency, for the service to tell.
//
//   node prices.mjs         writes it into the package
//
// A place has what it writes otherwise than its language; null is nobody's to follow. What this machine's `Intl` says is the truth; left out is what a widget could not follow.
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const HERE = dirname(fileURLToPath(import.meta.url));
const OUT = join(HERE, "../src/productrecs/features/widgets/prices.json");
const PLACES = {
  en: ["US", "GB", "IE", "CA", "AU", "NZ", "ZA", "SG", "MT", "BE", "NL", "DE", "SE", "DK", "FI"],
  de: ["DE", "AT", "CH", "LI", "LU", "BE", "IT"],
  fr: ["FR", "BE", "CH", "CA", "LU", "MA"],
  es: ["ES", "MX", "AR", "CL", "CO", "PE", "US"],
  it: ["IT", "CH"],
  nl: ["NL", "BE"],
  pl: ["PL"],
  pt: ["BR", "PT"],
  sv: ["SE", "FI"],
  da: ["DK"],
  cs: ["CZ"],
  ja: ["JP"],
  nb: ["NO"], no: ["NO"], fi: ["FI"], sk: ["SK"], hu: ["HU"], ro: ["RO"], el: ["GR"], tr: ["TR"],
};
const CURRENCIES = [
  "EUR", "USD", "GBP", "CHF", "PLN", "SEK", "DKK", "NOK", "CZK", "HUF", "RON", "TRY", "JPY",
  "CAD", "AUD", "NZD", "SGD", "ZAR", "MXN", "BRL", "ARS", "CLP", "COP", "PEN", "MAD", "AED", "SAR",
];
const AMOUNTS = [0, 0.5, 9, 9.99, 19.9, 123.45, 999, 1234, 1234.5, 9999.99, 12345.6, 1234567.89];

const { outputFiles: [{ text }] } = await build({
  absWorkingDir: HERE, bundle: true, entryPoints: ["src/core/money.ts"], format: "esm", write: false,
});
const { money } = await import(`data:text/javascript,${encodeURIComponent(text)}`);

function told(locale) {
  const found = {};
  for (const currency of CURRENCIES) {
    const { format } = new Intl.NumberFormat(locale, { style: "currency", currency });
    const look = { currency, locale, strings: { price: format(1234) } };
    if (AMOUNTS.every((one) => money(one, look) === format(one))) found[currency] = format(1234);
  }
  return found;
}

const all = {};
for (const [language, places] of Object.entries(PLACES)) {
  const usual = (all[language] = told(language));
  for (const place of places) {
    const own = told(`${language}-${place}`);
    const others = CURRENCIES.filter((one) => own[one] !== usual[one]);
    all[`${language}-${place}`] = Object.fromEntries(others.map((one) => [one, own[one] ?? null]));
  }
}
await writeFile(OUT, `${JSON.stringify(all, null, 1)}\n`);
