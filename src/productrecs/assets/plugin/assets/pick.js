// Element picker: a merchant clicks the shop's search box, and the settings get its selector.
(function () {
  "use strict";
  if (!window.opener) return;
  var BOXES = 'input[type="search"], input[type="text"], input:not([type])';
  var bar = document.createElement("div");
  bar.setAttribute("role", "status");
  bar.textContent = document.currentScript.dataset.prText;
  bar.style.cssText = "position:fixed;z-index:2147483647;inset:auto 0 0 0;padding:14px 20px;" +
    "background:#1d2327;color:#fff;font:16px/1.4 system-ui,sans-serif;text-align:center";

  // The shortest of id, name and place in its form that names this box alone.
  function selectorOf(box) {
    var form = box.form && box.form.className && "form." + CSS.escape(box.form.classList[0]) + " ";
    var found = [
      box.id && !/\d{2}/.test(box.id) && "#" + CSS.escape(box.id),
      box.name && 'input[name="' + CSS.escape(box.name) + '"]',
      form && box.name && form + 'input[name="' + CSS.escape(box.name) + '"]',
      box.id && "#" + CSS.escape(box.id)
    ].filter(function (one) { return one && document.querySelectorAll(one).length === 1; });
    return found[0] || (box.name ? 'input[name="' + CSS.escape(box.name) + '"]' : "input[type=search]");
  }
  function boxOf(target) {
    if (!target || !target.closest) return null;
    var form = target.closest("form");
    return target.closest(BOXES) || (form && form.querySelector(BOXES));
  }
  document.addEventListener("mouseover", function (event) {
    var box = boxOf(event.target);
    if (box) box.style.outline = "3px solid #d63638";
  });
  document.addEventListener("mouseout", function (event) {
    var box = boxOf(event.target);
    if (box) box.style.outline = "";
  });
  document.addEventListener("click", function (event) {
    var box = boxOf(event.target);
    if (!box) return; // Menus stay usable: the box may be behind a button.
    event.preventDefault();
    event.stopPropagation();
    window.opener.postMessage({ productRecsSelector: selectorOf(box) }, location.origin);
    window.close();
  }, true);
  document.body.appendChild(bar);
})();
