// The overlay of ?pr_debug=1 and ?pr_preview=1: shows in words what the widgets of this page do.

import type { Core } from "../core/core";
import { draw, style } from "../core/drawing";
import { hintsFor } from "./hints";
import { type Draft, keep, kept } from "./preview";
import css from "./tools.css";
import type { Watch } from "./watching";

const SOON_MS = 200;

export class Overlay {
  private readonly host = draw("div", { "data-productrecs-tools": "" });
  private readonly facts = draw("div", {});
  private readonly states = new Map<Element, string>();
  private timer = 0;

  constructor(
    private readonly core: Core,
    private readonly version: string,
    isPreview: boolean,
  ) {
    const root = this.host.attachShadow({ mode: "open" });
    style(root, css);
    const fold = draw("button", { type: "button", "aria-expanded": "true" }, "Fold");
    const name = isPreview ? "ProductRecs: preview" : "ProductRecs: debug";
    const head = draw("header", {}, draw("h2", {}, name), fold);
    const panel = draw("section", { "aria-label": name, tabindex: "0" }, head);
    fold.addEventListener("click", () => {
      const isClosed = panel.classList.toggle("closed");
      fold.ariaExpanded = `${!isClosed}`;
      fold.textContent = isClosed ? "Show" : "Fold";
    });
    root.append(panel);
    for (const state of ["loaded", "empty", "error"]) {
      document.addEventListener(`product-recs:${state}`, ({ target, detail }: any) => {
        const many = detail.products ? ` (${detail.products.length})` : "";
        this.states.set(target, `${state}${many}${detail.reason ? `: ${detail.reason}` : ""}`);
        this.soon();
      });
    }
    const show = (): void => {
      panel.append(...(isPreview ? this.drafts() : []), this.facts);
      document.body.append(this.host);
    };
    if (document.readyState !== "loading") show();
    else document.addEventListener("DOMContentLoaded", show);
  }

  /** The state that it shows; rendered again at each change. */
  watch: Watch | undefined;

  soon = (): void => {
    this.timer ||= window.setTimeout(() => {
      this.timer = 0;
      this.draw();
    }, SOON_MS);
  };

  private draw(): void {
    const { core, watch } = this;
    let session: string | null = null;
    try {
      session = localStorage.getItem("pr_sid");
    } catch {
      session = "in memory: storage is blocked";
    }
    const told = [...(watch?.told.values() ?? [])];
    this.facts.replaceChildren(
      ...listOf("This page", [
        `version ${this.version}, at ${core.facts.base}`,
        `key ${core.keyOf()}`,
        `session ${session ?? "none yet"}${core.user ? `, customer ${core.user}` : ""}`,
        `consent ${core.consent.given ? "given" : "not given"}`,
      ]),
      ...listOf("Hints", hintsFor(core), true),
      ...listOf("Elements", [...this.states].map(([one, state]) => `${nameOf(one)}: ${state}${unseen(one, state)}`)),
      ...listOf(
        "Asked",
        (watch?.asked ?? []).map((one) => {
          const ms = one.ms === null ? "" : ` ${one.ms} ms`;
          const line = draw("li", {}, `${one.path}${ms} `, draw("small", {}, one.query));
          line.append(draw("div", one.isWrong ? { class: "wrong" } : {}, one.said));
          return line;
        }),
      ),
      ...listOf(
        `Events: ${told.length}, ${told.filter((one) => one.state.startsWith("accepted")).length} accepted`,
        told.map((one) =>
          draw("li", {}, `${one.event} ${one.about} `, draw("small", {}, one.state)),
        ),
      ),
    );
  }

  /** A box for each widget type: the body that publishes these settings. */
  private drafts(): HTMLElement[] {
    const { drafts, isReal } = kept();
    const found = document.querySelectorAll<HTMLElement>("product-recs, product-look");
    const types = new Set([...found].map((one) => one.dataset.type ?? defaultOf(one)));
    const boxes = new Map<string, HTMLTextAreaElement>();
    for (const type of [...types, ...Object.keys(drafts)]) {
      if (boxes.has(type)) continue;
      const box = draw("textarea", { spellcheck: "false" });
      box.value = JSON.stringify(drafts[type] ?? { settings: {} }, null, 1);
      boxes.set(type, box);
    }
    const wrong = draw("p", { class: "wrong", role: "status" });
    const real = draw("input", { type: "checkbox" });
    real.checked = isReal;
    const apply = draw("button", { type: "button" }, "Apply in this tab");
    apply.addEventListener("click", () => {
      const changed: Record<string, Draft> = {};
      for (const [type, box] of boxes) {
        try {
          changed[type] = JSON.parse(box.value || "{}");
        } catch (error) {
          wrong.textContent = `${type}: ${error}`;
          return;
        }
      }
      keep({ drafts: changed, isReal: real.checked });
      location.reload();
    });
    const forget = draw("button", { type: "button" }, "Forget");
    forget.addEventListener("click", () => {
      keep({ drafts: {}, isReal: false });
      location.reload();
    });
    return [
      draw("p", {}, "Only this tab shows this, with products that nobody sells, and no event is sent. ",
        "To publish a look, send its box as the body of PUT /integration/widget-config?type=…"),
      ...[...boxes].map(([type, box]) => draw("label", {}, type, box)),
      draw("label", {}, real, " real products"),
      draw("p", {}, apply, " ", forget),
      wrong,
    ];
  }
}

function defaultOf(element: HTMLElement): string {
  if (element.localName === "product-look") return "look";
  return element.dataset.source === "trending" ? "trending" : "recs";
}

/** Reports lists that are rendered but not visible: without room, or hidden by something. */
function unseen(element: Element, state: string): string {
  if (!state.startsWith("loaded")) return "";
  const { width, height } = element.getBoundingClientRect();
  if (width > 1 && height > 1 && getComputedStyle(element).visibility === "visible") return "";
  const room = `${Math.round(width)} by ${Math.round(height)} px`;
  return `, but not visible: the page leaves it ${room}, or hides it`;
}

function nameOf(element: Element): string {
  const { dataset, localName } = element as HTMLElement;
  const told = Object.entries(dataset).filter(([name]) => !/^(key|settled)$/.test(name));
  return [localName, ...told.map(([name, value]) => `${name}=${value}`)].join(" ");
}

function listOf(title: string, lines: readonly (string | Node)[], isWrong = false): HTMLElement[] {
  if (!lines.length) return [];
  const rows = lines.map((one) =>
    typeof one === "string" ? draw("li", isWrong ? { class: "wrong" } : {}, one) : one,
  );
  return [draw("h3", {}, title), draw("ul", {}, ...rows)];
}
