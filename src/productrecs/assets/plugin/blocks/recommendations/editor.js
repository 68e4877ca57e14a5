// Block editor: a placeholder with its settings; the shop's pages show the products.
(function (wp) {
  "use strict";
  var el = wp.element.createElement;
  var __ = wp.i18n.__;
  wp.blocks.registerBlockType("product-recs/recommendations", {
    edit: function (props) {
      var set = props.setAttributes;
      var types = [
        { value: "recs", label: __("For this shopper", "service-recommender") },
        { value: "fbt", label: __("Bought together", "service-recommender") },
        { value: "cart", label: __("For the cart", "service-recommender") },
        { value: "trending", label: __("Popular products", "service-recommender") }
      ];
      var chosen = types.filter(function (one) { return one.value === props.attributes.type; })[0];
      return el("div", wp.blockEditor.useBlockProps(),
        el(wp.blockEditor.InspectorControls, {},
          el(wp.components.PanelBody, { title: __("List", "service-recommender") },
            el(wp.components.SelectControl, { label: __("Type", "service-recommender"), value: props.attributes.type, options: types, onChange: function (type) { set({ type: type }); } }),
            el(wp.components.TextControl, { label: __("Title", "service-recommender"), value: props.attributes.title, onChange: function (title) { set({ title: title }); } }),
            el(wp.components.RangeControl, { label: __("Number of products (0: as in the service)", "service-recommender"), value: props.attributes.num, min: 0, max: 20, onChange: function (num) { set({ num: num || 0 }); } })
          )
        ),
        el(wp.components.Placeholder, { icon: "products", label: __("Product recommendations", "service-recommender"), instructions: chosen ? chosen.label : "" })
      );
    },
    save: function () { return null; }
  });
})(window.wp);
