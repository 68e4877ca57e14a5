// <product-look>: a published look, or a photo of the shopper's, with the products in it.

import type { Look } from "../core/config";
import type { Core } from "../core/core";
import { draw, icon } from "../core/drawing";
import { frame } from "../core/frame";
import { NearElement, type Place } from "../core/near";
import { CAMERA, failureOf, hintOf, send, shrink, takePhotos } from "../core/photo";
import { read, withQuery } from "../core/reading";
import { turn } from "../core/turns";
import styles from "./look.css";
import { type Picture, pictureOf, spotsOf } from "./reply";
import { drawStage } from "./stage";

const TYPE = "look";

export function elementOf(core: Core): CustomElementConstructor {
  return class ProductLookElement extends NearElement {
    protected get core_(): Core {
      return core;
    }

    protected place_(): Place {
      return { key: core.keyOf(this), type: TYPE, item: this.dataset.itemId ?? "" };
    }

    protected async load_(signal: AbortSignal, whole: AbortSignal): Promise<void> {
      const place = this.place_();
      const look = await this.look_(place);
      const picture = place.item ? await this.published_(place, look, signal) : null;
      const image = picture && (await loaded(picture.address).then(turn));
      const canUpload =
        this.dataset.upload !== undefined && core.facts.answers.includes("analyze");
      if (!picture && !canUpload) return this.without_("empty", {});
      await this.show_(picture, image, look, place, canUpload, signal, whole);
    }

    private async published_(
      { item, key }: Place,
      { price_list }: Look,
      signal: AbortSignal,
    ): Promise<Picture | null> {
      if (!core.facts.answers.includes("looks")) return null;
      const query = withQuery("/v1/looks", { item_id: item, key, price_list });
      const { body_: body } = await read(core.facts.base + query, signal);
      return pictureOf(body.look);
    }

    private async show_(
      picture: Picture | null,
      image: HTMLImageElement | null,
      look: Look,
      place: Place,
      canUpload: boolean,
      signal: AbortSignal,
      whole: AbortSignal,
    ): Promise<void> {
      const level = `h${this.level_}` as "h2";
      const heading = look.title ? draw(level, "heading", look.title) : null;
      const content = draw("section", { part: "widget", "aria-label": look.title }, heading);
      const stage =
        picture &&
        image &&
        (await drawStage(picture, image, look, {
          clicked_: (product, origin) => this.clicked_(product, place, origin),
          wanted_: (chosen) => this.wanted_(chosen, look, place),
        }));
      if (stage) content.append(stage.content);
      if (canUpload) content.append(...this.upload_(look, place, whole));
      signal.throwIfAborted();
      this.settle_(() => frame(this, look, styles, content));
      if (stage) {
        this.watch_(stage.rows, stage.products, place);
        core.page.join(this, true, stage.products.map(({ id }) => id));
      }
      this.say_("loaded", { type: TYPE, look: picture });
    }

    /** The button that takes a photo and shows the products in it. */
    private upload_(look: Look, place: Place, signal: AbortSignal): HTMLElement[] {
      const { strings } = look;
      const name = draw("b", {}, strings.upload);
      const hint = draw("small", {}, hintOf(strings));
      const text = draw("span", { role: "status" }, name, hint);
      const button = draw("button", { class: "pick", type: "button" }, icon(CAMERA), text);
      const chooser = draw("input", { type: "file", accept: "image/*", hidden: "" });
      const say = (title: string, more: string, isBusy: boolean): void => {
        name.textContent = title;
        hint.textContent = more;
        button.ariaBusy = `${isBusy}`;
      };
      const taken = async (photo: File): Promise<void> => {
        if (button.ariaBusy === "true") return;
        say(strings.photo_busy, strings.photo_kept, true);
        try {
          const data = await shrink(photo);
          const { price_list } = look;
          const query = withQuery("/v1/shop-the-look/analyze", { key: place.key, price_list });
          const { body_: body } = await send(core.facts.base + query, { image: data }, signal);
          const spots = spotsOf(body.hotspots).filter((spot) => spot.products.length);
          if (!spots.length) return say(strings.nothing, strings.photo_kept, false);
          const picture = { address: data, caption: "", spots };
          const own = { ...look, title: strings.products };
          const image = await loaded(data).then(turn);
          await this.show_(picture, image, own, place, true, signal, signal);
          this.shadowRoot!.querySelector<HTMLElement>(".pick")?.focus({ preventScroll: true });
          this.scrollIntoView({ block: "nearest" });
        } catch (reason) {
          if (!signal.aborted) say(failureOf(reason, strings), hintOf(strings), false);
        }
      };
      button.addEventListener("click", () => chooser.click());
      takePhotos(chooser, [button], (photo) => void taken(photo));
      return [button, chooser];
    }
  };
}

/** Returns a picture that can be drawn at once, with its size; rejects where it has none. */
async function loaded(address: string): Promise<HTMLImageElement> {
  const image = draw("img", { part: "image", decoding: "async" });
  image.src = address;
  await image.decode();
  return image;
}
