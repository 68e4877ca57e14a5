import type { DefineComponent } from "vue";
import type { CartRequest, Click, ElementProps, Failure, Impression, Loaded } from "./element.js";

export type { CartRequest, Click, Failure, Impression, Loaded, Product } from "./element.js";

export interface ProductRecsProps extends ElementProps {
  /** Fills the cart; the button waits for the promise, and shows whether it succeeded. */
  addToCart?: (wanted: CartRequest) => unknown;
  /** Return false to keep the browser on the page. */
  beforeClick?: (clicked: Click) => boolean | void;
  onLoaded?: (loaded: Loaded) => void;
  onEmpty?: () => void;
  onFailed?: (failure: Failure) => void;
  onImpression?: (seen: Impression) => void;
  onProductClick?: (clicked: Click) => void;
}

/** A list of products that belong on this page. Its slot shows until there are some. */
export declare const ProductRecs: DefineComponent<ProductRecsProps>;
