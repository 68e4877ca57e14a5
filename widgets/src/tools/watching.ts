// Watches everything that the widgets send to the service.

/** A request of a widget, and its outcome. */
export interface Asked {
  readonly path: string;
  readonly query: string;
  ms: number | null;
  said: string;
  isWrong: boolean;
}

/** An event by its id, and how far it got. */
export interface Told {
  readonly event: string;
  readonly about: string;
  state: string;
}

/** Answers instead of the service; null sends the request. */
export type Instead = (path: string, query: URLSearchParams, real: () => Promise<Response>) =>
  | Promise<Response>
  | null;

export class Watch {
  readonly asked: Asked[] = [];
  readonly told = new Map<string, Told>();

  constructor(
    private readonly base: string,
    private readonly instead: Instead,
    private readonly changed: () => void,
  ) {
    const { fetch } = window;
    const beacon = navigator.sendBeacon.bind(navigator);
    window.fetch = (input, init) => {
      const path = this.pathOf(input);
      if (path === null) return fetch.call(window, input, init);
      const call = (): Promise<Response> => fetch.call(window, input, init);
      return path.startsWith("/v1/events") ? this.tells(init, call) : this.asks(path, call);
    };
    navigator.sendBeacon = (input, body) => {
      const isOurs = this.pathOf(input)?.startsWith("/v1/events");
      if (isOurs && this.instead("/v1/events", new URLSearchParams(), noReply)) return true;
      const sent = beacon(input, body);
      if (isOurs) this.note(body, sent ? "sent as the page closed" : "refused by the browser");
      return sent;
    };
  }

  private pathOf(input: RequestInfo | URL): string | null {
    const address = input instanceof Request ? input.url : `${input}`;
    return address.startsWith(`${this.base}/v1/`) ? address.slice(this.base.length) : null;
  }

  private async tells(init: RequestInit | undefined, call: () => Promise<Response>) {
    this.note(init?.body, "on its way");
    try {
      const made = this.instead("/v1/events", new URLSearchParams(), call);
      const reply = await (made ?? call());
      const warned = reply.ok && !made ? await warningsOf(reply) : "";
      const accepted = warned ? `accepted · ${warned}` : "accepted";
      const state = reply.ok ? accepted : `refused: ${await reasonOf(reply)}`;
      this.note(init?.body, made ? "held back by the preview" : state);
      return reply;
    } catch (error) {
      this.note(init?.body, "not delivered yet; it will be sent again");
      throw error;
    }
  }

  private async asks(address: string, call: () => Promise<Response>): Promise<Response> {
    const [path = "", query = ""] = address.split("?");
    const parameters = new URLSearchParams(query);
    parameters.delete("key");
    const asked: Asked = { path, query: `${parameters}`, ms: null, said: "…", isWrong: false };
    this.asked.push(asked);
    this.changed();
    const begun = performance.now();
    try {
      const reply = await (this.instead(path, parameters, call) ?? call());
      asked.ms = Math.round(performance.now() - begun);
      asked.said = reply.ok ? await foundIn(path, parameters, reply) : await reasonOf(reply);
      const warned = reply.ok ? await warningsOf(reply) : "";
      asked.said += warned && ` · ${warned}`;
      asked.isWrong = !reply.ok || !!warned;
      return reply;
    } catch (error) {
      asked.ms = Math.round(performance.now() - begun);
      asked.isWrong = true;
      asked.said =
        (error as Error)?.name === "AbortError"
          ? "given up: no answer within 2.6 s, or the page wanted something else meanwhile"
          : "no answer: the network, an extension or the page's connect-src";
      throw error;
    } finally {
      this.changed();
    }
  }

  private note(body: unknown, state: string): void {
    try {
      const sent: any = JSON.parse(`${body}`);
      for (const one of Array.isArray(sent) ? sent : [sent]) {
        const about = one.item_id ?? one.item_ids?.join(", ") ?? one.search_query ?? "";
        this.told.set(one.event_id, { event: one.event, about: `${about}`, state });
      }
    } catch {
      // The service decides whether what was sent is valid.
    }
    this.changed();
  }
}

const noReply = (): Promise<Response> => Promise.reject(new Error("nobody asks"));

/** Returns the service's warnings, such as a refused identity; usually none. */
async function warningsOf(reply: Response): Promise<string> {
  const body = await reply.clone().json().catch(() => null);
  return (body?.warnings ?? []).join(" · ");
}

async function reasonOf(reply: Response): Promise<string> {
  const body = await reply.clone().json().catch(() => ({}));
  const detail = Array.isArray(body.detail) ? body.detail[0]?.msg : body.detail;
  return [reply.status, body.code, detail].filter(Boolean).join(" · ");
}

/** Describes how much a reply contains; if nothing, why. */
async function foundIn(path: string, query: URLSearchParams, reply: Response): Promise<string> {
  const body = await reply.clone().json().catch(() => null);
  if (body === null) return "a reply that is no JSON";
  if (path === "/v1/widget-config") return `the look of "${body.type}"`;
  const list: unknown = body.recommendations ?? body.results;
  if (Array.isArray(list) && list.length) return `${list.length} ${list.length > 1 ? "products" : "product"}`;
  const status = reply.headers.get("x-billing-status");
  if (status && status !== "active" && status !== "trial") return `nothing: the plan is ${status}`;
  if (path === "/v1/looks") {
    return body.look ? "a look" : "nothing: no look is published for this product";
  }
  if (!Array.isArray(list)) return "answered";
  if (path.startsWith("/v1/search")) return "nothing: no product is like that";
  return query.get("source") === "buy"
    ? "nothing: no orders hold these products with others yet, and `buy` is never filled up"
    : "nothing: no product may be shown; look at the catalog, its stock and the rules";
}
