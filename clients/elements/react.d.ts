import type { HTMLAttributes, ReactElement } from "react";
import type { CartRequest, Click, ElementProps, Failure, Impression, Loaded } from "./element.js";

export type { CartRequest, Click, Failure, Impression, Loaded, Product } from "./element.js";

export interface ProductRecsProps
  extends ElementProps,
    Omit<HTMLAttributes<HTMLElement>, keyof ElementProps> {
  onLoaded?: (loaded: Loaded) => void;
  onEmpty?: () => void;
  onFailed?: (failure: Failure) => void;
  onImpression?: (seen: Impression) => void;
  /** Return false to keep the browser on the page. */
  onProductClick?: (clicked: Click) => boolean | void;
  /** Fills the cart; the button waits for the promise, and shows whether it succeeded. */
  onAddToCart?: (wanted: CartRequest) => unknown;
}

/** A list of products that belong on this page. Its children show until there are some. */
export declare function ProductRecs(props: ProductRecsProps): ReactElement;
