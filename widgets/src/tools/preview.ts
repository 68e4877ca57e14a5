// Previews: settings that only this tab has, and sample products.

import type { Instead } from "./watching";

const NAME = "pr_preview";
const ASIDE = new Set(["/v1/recommendations", "/v1/trending", "/v1/search"]);
const MOST = 20;

/** Settings that are not published: the body of `PUT /integration/widget-config`. */
export interface Draft {
  readonly settings?: Readonly<Record<string, unknown>> | null;
  readonly custom_css?: string | null;
  readonly scoped?: boolean | null;
}

interface Kept {
  readonly drafts: Readonly<Record<string, Draft>>;
  readonly isReal: boolean;
}

/** What this tab stores; deleted with the tab. */
export function kept(): Kept {
  try {
    return { drafts: {}, isReal: false, ...JSON.parse(sessionStorage.getItem(NAME) ?? "{}") };
  } catch {
    return { drafts: {}, isReal: false };
  }
}

export function keep(change: Partial<Kept>): void {
  sessionStorage.setItem(NAME, JSON.stringify({ ...kept(), ...change }));
}

/** Answers requests without the service: settings with their drafts, lists, and events. */
export const previewed: Instead = (path, query, real) => {
  if (path === "/v1/events") return Promise.resolve(replyOf({ ok: true }));
  if (path === "/v1/widget-config") return withDraft(real);
  if (!ASIDE.has(path) || kept().isReal) return null;
  const num = Math.min(Number(query.get("num")) || 8, MOST);
  const products = Array.from({ length: num }, (_, at) => exampleOf(at + 1));
  const name = path === "/v1/search" ? "results" : "recommendations";
  const beside = query.get("anchor") && { anchor: exampleOf(MOST + 1) };
  return Promise.resolve(replyOf({ [name]: products, ...beside }));
};

async function withDraft(real: () => Promise<Response>): Promise<Response> {
  const reply = await real();
  if (!reply.ok) return reply;
  const body = await reply.json();
  const { settings, custom_css, scoped }: Draft = kept().drafts[body.type] ?? {};
  const set = Object.entries(settings ?? {}).filter(([, value]) => value !== null);
  return replyOf({
    ...body,
    settings: { ...body.settings, ...Object.fromEntries(set) },
    custom_css: custom_css ?? body.custom_css,
    scoped: scoped ?? body.scoped,
  });
}

function exampleOf(at: number): object {
  const title = at % 3 ? `Example product ${at}` : `Example product ${at} with a longer name`;
  const price = 7.5 * at + 4.99;
  return { id: `example-${at}`, title, price, image_url: null, product_url: null, source: "mix" };
}

function replyOf(body: object): Response {
  const headers = { "content-type": "application/json" };
  return new Response(JSON.stringify(body), { headers });
}
