// Consent: whether data of this shopper may be stored and sent. Yes, unless the page or the
// shopper refuses.

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

  /** `changed_` is called whenever the answer may have changed. */
  constructor(private readonly changed_: () => void) {
    for (const name of ["wp_listen_for_consent_change", "visitorConsentCollected"]) {
      document.addEventListener(name, changed_);
    }
  }

  say(granted: boolean): void {
    this.said_ = granted;
    this.changed_();
  }

  /** Whether consent was refused explicitly, so that waiting for it is pointless. */
  get refused(): boolean {
    return this.said_ === false;
  }

  /** The page's own setting comes first, then its consent tools, then the browser. */
  get given(): boolean {
    if (this.said_ != null) return this.said_;
    try {
      const shop = window.Shopify?.customerPrivacy?.analyticsProcessingAllowed;
      if (shop) return shop();
      if (window.wp_has_consent) return window.wp_has_consent("statistics");
    } catch {
      return false;
    }
    // On the script's tag, or on any of our elements.
    const isRequired = document.querySelector("[data-consent=required]");
    return !isRequired && !navigator.globalPrivacyControl;
  }
}
