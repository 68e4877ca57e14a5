// May anything of this shopper be kept or sent? Yes, unless the page or the shopper says no.

declare global {
  interface Navigator {
    readonly globalPrivacyControl?: boolean;
  }
  interface Window {
    wp_has_consent?: (category: string) => boolean;
    Shopify?: { customerPrivacy?: { analyticsProcessingAllowed?: () => boolean } };
  }
}

export class Consent {
  private said_: boolean | undefined;

  /** `changed_` is called whenever the answer may be another. */
  constructor(private readonly changed_: () => void) {
    for (const name of ["wp_listen_for_consent_change", "visitorConsentCollected"]) {
      document.addEventListener(name, changed_);
    }
  }

  say(granted: boolean): void {
    this.said_ = granted;
    this.changed_();
  }

  /** Whether a clear no was said, so that waiting for a yes is vain. */
  get refused(): boolean {
    return this.said_ === false;
  }

  /** What the page said itself counts first, then its consent tools, then the browser. */
  get given(): boolean {
    if (this.said_ != null) return this.said_;
    try {
      const shop = window.Shopify?.customerPrivacy?.analyticsProcessingAllowed;
      if (shop) return shop();
      if (window.wp_has_consent) return window.wp_has_consent("statistics");
    } catch {
      return false;
    }
    // On the script's tag, or on any element of ours.
    const isRequired = document.querySelector("[data-consent=required]");
    return !isRequired && !navigator.globalPrivacyControl;
  }
}
