// Module: starts the background work, passes on consent, and puts a widget's products into the cart.
(function () {
  "use strict";
  var told = document.currentScript ? document.currentScript.dataset : {};
  if (told.prWork) {
    addEventListener("load", function () {
      fetch(told.prWork, { method: "POST", credentials: "omit", keepalive: true }).catch(function () {});
    });
  }

  // The shop's cookie notice: the server knows the answer of earlier pages, the request that of this one.
  function consent(may) {
    if (window.ProductRecs && window.ProductRecs.consent) window.ProductRecs.consent(may);
    else document.addEventListener("product-recs:loaded", function () { window.ProductRecs.consent(may); }, { once: true });
  }
  if (told.prAgreed) consent(true);

  function listen() {
    if (!window.jQuery) return;
    window.jQuery(document).on("ajaxSuccess", function (event, request, settings) {
      var agreed = /[?&]route=common(?:\/|%2F)cookie\.confirm\b.*[?&]agree=([01])/i.exec(settings.url || "");
      if (agreed) consent(agreed[1] === "1");
      document.dispatchEvent(new CustomEvent("product-recs:cart-changed"));
    });
  }
  if (document.readyState === "complete") listen();
  else addEventListener("load", listen);

  // A widget's button: one product after the other; one with options is chosen on its own page.
  document.addEventListener("product-recs:add-to-cart", function (event) {
    if (!told.prCart || event.defaultPrevented) return;
    event.preventDefault();
    event.detail.waitUntil(event.detail.items.reduce(function (before, item) {
      return before.then(function () {
        var body = new URLSearchParams({ product_id: item.id, quantity: item.quantity || 1 });
        return fetch(told.prCart, { method: "POST", credentials: "same-origin", body: body })
          .then(function (reply) { return reply.json(); })
          .then(function (reply) {
            if (reply.success) return;
            if (reply.redirect) location.href = reply.redirect;
            throw new Error("not added");
          });
      });
    }, Promise.resolve()).then(function () {
      document.dispatchEvent(new CustomEvent("product-recs:cart-changed"));
      var cart = document.querySelector("#header-cart, #cart"); // OpenCart 4.0, and since 4.1.
      if (!told.prInfo || !cart) return;
      return fetch(told.prInfo, { credentials: "same-origin" })
        .then(function (reply) { return reply.text(); })
        .then(function (html) { cart.innerHTML = html; });
    }));
  });
})();
