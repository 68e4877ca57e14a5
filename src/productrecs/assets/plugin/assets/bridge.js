// Bridge between the widgets and the shop: the session id for orders, and the cart.
(function () {
  "use strict";
  var told = document.currentScript ? document.currentScript.dataset : {};
  var FORM = /^s_[A-Za-z0-9]{1,253}$/;

  function cookie(name) {
    var found = document.cookie.match(new RegExp("(?:^|; )" + name + "=([^;]*)"));
    try {
      return found ? decodeURIComponent(found[1]) : "";
    } catch (error) {
      return "";
    }
  }
  function keep(name, value, seconds) {
    var secure = location.protocol === "https:" ? "; Secure" : "";
    document.cookie = name + "=" + value + "; Path=/; Max-Age=" + seconds + "; SameSite=Lax" + secure;
  }

  // The widgets store the id only with consent, and remove it when consent is taken back.
  function mirror() {
    var id = "";
    try {
      id = localStorage.getItem("pr_sid") || "";
    } catch (error) {}
    if (FORM.test(id)) {
      if (cookie("pr_sid") !== id) keep("pr_sid", id, 15552000);
    } else if (cookie("pr_sid")) keep("pr_sid", "", 0);
  }

  // The server left what was put into the cart in a cookie. Whoever reads it deletes it, so
  // an add counts once however many events announce it.
  function drain() {
    var lines = cookie("pr_cart");
    if (!lines) return;
    keep("pr_cart", "", 0);
    try {
      lines = JSON.parse(lines);
    } catch (error) {
      return;
    }
    if (!window.ProductRecs) {
      window.ProductRecs = { q: [], track: function () { this.q.push(arguments); } };
      if (told.prScript && !document.querySelector('script[src="' + told.prScript + '"]')) {
        var script = document.createElement("script");
        script.async = true;
        script.src = told.prScript;
        ["customerId", "identity", "consent"].forEach(function (name) {
          if (told[name]) script.dataset[name] = told[name];
        });
        script.onload = ask;
        document.head.appendChild(script);
      }
    }
    lines.forEach(function (line) {
      window.ProductRecs.track("add-to-cart", {
        item_id: String(line[0]), quantity: line[1], value: line[2], currency: line[3]
      });
    });
  }
  function both() {
    mirror();
    drain();
  }

  // The WP Consent API comes in the footer, often after the widgets, which wait for a yes where
  // it is used. A no that follows a yes makes them forget the shopper.
  var agreed = false;
  function ask() {
    var ours = window.ProductRecs;
    if (!window.wp_has_consent || !ours || !ours.consent) return;
    var may = window.wp_has_consent("statistics");
    if (may !== agreed) ours.consent(may);
    agreed = may;
    both();
  }
  ["product-recs:loaded", "wp_listen_for_consent_change", "wp_consent_type_defined"].forEach(
    function (name) { document.addEventListener(name, ask); }
  );

  ["DOMContentLoaded", "product-recs:loaded", "submit", "click", "visibilitychange"].forEach(function (name) {
    document.addEventListener(name, mirror, true);
  });
  addEventListener("pagehide", mirror);
  addEventListener("pageshow", both);
  document.addEventListener("wc-blocks_added_to_cart", drain, true);
  document.addEventListener("product-recs:cart-changed", drain);
  addEventListener("load", function () {
    both();
    ask();
    if (window.jQuery) window.jQuery(document.body).on("added_to_cart", drain);
  });
  both();

  // A widget's button: put its products into the cart, one after the other.
  document.addEventListener("product-recs:add-to-cart", function (event) {
    if (!told.prAdd || event.defaultPrevented) return;
    event.preventDefault();
    var work = event.detail.items.reduce(function (before, item) {
      return before.then(function () {
        var body = new URLSearchParams({ product_id: item.id, quantity: item.quantity || 1, product_recs: 1 });
        return fetch(told.prAdd, { method: "POST", credentials: "same-origin", body: body })
          .then(function (reply) { return reply.json(); })
          .then(function (reply) {
            if (reply.error) {
              // It has variations to choose from, or none is left: its page says which.
              if (reply.product_url) location.href = reply.product_url;
              throw new Error("not added");
            }
            return reply;
          });
      });
    }, Promise.resolve()).then(function (reply) {
      drain();
      if (window.jQuery) {
        window.jQuery(document.body).trigger("added_to_cart", [reply.fragments, reply.cart_hash]);
        window.jQuery(document.body).trigger("wc_update_cart");
      } else {
        document.body.dispatchEvent(new CustomEvent("wc-blocks_added_to_cart", {
          bubbles: true, cancelable: true, detail: { preserveCartData: false }
        }));
      }
    });
    event.detail.waitUntil(work);
  });
})();
