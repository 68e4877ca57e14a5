// <ProductRecs> for Vue 3.

import { defineComponent, h, onBeforeUnmount, onMounted, shallowRef } from "vue";
import { PROPS, attributesOf, listen } from "./element.js";

const EVENTS = {
  loaded: "loaded", empty: "empty", error: "failed", impression: "impression", click: "productClick",
};

export const ProductRecs = defineComponent({
  name: "ProductRecs",
  props: [...PROPS, "addToCart", "beforeClick"],
  emits: Object.values(EVENTS),
  setup(props, { emit, slots }) {
    const element = shallowRef(null);
    let stop;
    const handlerOf = (event) => {
      if (event === "addToCart") return props.addToCart;
      return (detail) => {
        emit(EVENTS[event], detail);
        return event === "click" ? props.beforeClick?.(detail) : undefined;
      };
    };
    onMounted(() => (stop = listen(element.value, handlerOf)));
    onBeforeUnmount(() => stop?.());
    return () => h("product-recs", { ...attributesOf(props), ref: element }, slots.default?.());
  },
});
