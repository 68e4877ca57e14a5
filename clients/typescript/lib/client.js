import { Transport } from "./transport.js";
/** The service, for one store: each method is one call. */
export class ProductRecs extends Transport {
    /**
     * Recommend products for a product page, a cart or a shopper.
     *
     * Return products for the request, each with the `source` that suggested it.
     *
     * `item_id` is the page's product, `item_ids` the cart's; with neither the list is based
     * on the shopper, and without a shopper on what sells. `buy` returns only products that
     * were bought together, `browse` uses the shopper's own history, `similar` needs
     * `item_id`. With `anchor=true` the reply also has the page's own product, as `anchor`;
     * null if it may not be shown.
     */
    recommend(query = {}, options = {}) {
        return this.send({ method: "GET", path: `/v1/recommendations`, keys: "either", query }, options);
    }
    /**
     * List what sells right now, the same for everybody.
     *
     * Return the products that trend by the store's metric and look-back window.
     *
     * By orders over 30 days, unless the store's settings say otherwise. It is never personal;
     * a shopper in the held-out arm of the store's test gets an empty list.
     */
    trending(query = {}, options = {}) {
        return this.send({ method: "GET", path: `/v1/trending`, keys: "either", query }, options);
    }
    /**
     * Search products, also while the shopper types.
     *
     * Return the products that match the query, best first.
     *
     * Typing mistakes are corrected, and the last word may be unfinished. A whole SKU, GTIN or
     * id answers with its product alone, and `redirect` is the product's page. If no word
     * matches, `results` is empty.
     *
     * Words that name a price, size, brand, colour or material may filter the results:
     * `filters` in the reply says which.
     *
     * Optional: filters, facets, sorting, paging, highlights and suggestions; the reply has
     * only what was requested.
     */
    search(query = {}, options = {}) {
        return this.send({ method: "GET", path: `/v1/search`, keys: "either", query }, options);
    }
    /**
     * Find products similar to a photo.
     *
     * Return the products whose pictures look like the photo, most similar first.
     *
     * A product whose barcode (EAN, UPC, ISBN) the photo shows comes before all others. Words
     * that are printed on what the photo shows count as well, if the server can read them.
     *
     * The photo is turned upright and compared as a whole and by its foreground. It is neither
     * stored nor logged. `score` is the similarity, 0 to 1. While a store has no indexed
     * pictures, `results` is empty. With `regions: true` the reply also has up to eight
     * regions of the photo, as POST /v1/shop-the-look/analyze returns them.
     */
    searchByPhoto(body, query = {}, options = {}) {
        return this.send({ method: "POST", path: `/v1/search/image`, keys: "publishable", query, body }, options);
    }
    /**
     * Find the store's products in a photo.
     *
     * Return up to eight regions of the photo, most certain first, with their products.
     *
     * A region has a label, a box (fractions of the upright photo, from its top left), its
     * confidence, and up to six similar products. The list is empty if nothing was recognised.
     * The photo is not stored.
     */
    analyzePhoto(body, query = {}, options = {}) {
        return this.send({ method: "POST", path: `/v1/shop-the-look/analyze`, keys: "publishable", query, body }, options);
    }
    /**
     * Return the look of a product page, or list all looks.
     *
     * Return the look of a product that was published last; null where there is none.
     *
     * Boxes are fractions of the upright picture, from its top left. A product that cannot be
     * shown now leaves its hotspot with `product` null.
     *
     * With the secret key and without `item_id`, the reply lists all published looks in pages,
     * by their ids, without `product`; `cursor`, `limit` and `updated_after` are of this list.
     */
    look(query = {}, options = {}) {
        return this.send({ method: "GET", path: `/v1/looks`, keys: "either", query }, options);
    }
    /**
     * Return a widget's settings.
     *
     * Return a widget's settings; a type without saved settings has the defaults.
     *
     * The currency, the locale and the number of products come from the store's settings if
     * the widget has none of its own.
     */
    widgetConfig(query = {}, options = {}) {
        return this.send({ method: "GET", path: `/v1/widget-config`, keys: "publishable", query }, options);
    }
    /**
     * Forecast a store's sales.
     *
     * Return the store's forecast for the 28 days after `generated_at`, by day.
     *
     * `mean` is the expected value, which may be summed; `p50` is the median; in four of five
     * days the amount is between `p10` and `p90`. All are in units or order lines, see
     * `target_mode`. `accuracy` is the accuracy of the same forecast in past weeks, beside the
     * better of two simple baselines. Needs the demand add-on; without it, and before its
     * first run, lists are empty and the rest is null.
     */
    forecastSummary(options = {}) {
        return this.send({ method: "GET", path: `/v1/forecast/summary`, keys: "either" }, options);
    }
    /**
     * Forecast one product's sales.
     *
     * Return one product's demand for the 28 days after `generated_at`, and its cover.
     *
     * `method` says whether the model learned from all products had a part in it (`lgbm`) or
     * the product's own past and its category's alone (`statistical`). `days_of_cover` is how
     * long `stock_qty` lasts from tomorrow on, at the expected pace.
     */
    forecastItem(itemId, options = {}) {
        return this.send({ method: "GET", path: `/v1/forecast/items/${this.escaped(itemId)}`, keys: "either" }, options);
    }
    /**
     * Record shopper events.
     *
     * Record one event, or an array of up to 500, in the order in which they happened.
     *
     * The reply is sent when they are on the disk. `event_id` makes a retry harmless for seven
     * days. Accepted but suspicious values, and fields that are unknown and ignored, are
     * listed in `warnings`.
     */
    track(body, options = {}) {
        return this.send({ method: "POST", path: `/v1/events`, keys: "publishable", body }, options);
    }
    /**
     * Record an order.
     *
     * Store an order with its lines; a repeat within seven days changes nothing.
     *
     * Each line counts as a purchase. Send it from your server with the secret key; a page may
     * send it with the publishable key. `warnings` names unknown fields, which are ignored,
     * and values that look wrong.
     */
    syncOrder(body, options = {}) {
        return this.send({ method: "POST", path: `/v1/orders`, keys: "either", body }, options);
    }
    /**
     * List orders.
     *
     * Return orders by their ids, however they came: calls, files and `buy` events.
     *
     * An order id that was accepted again after seven days is there for each time.
     */
    listOrders(query = {}, options = {}) {
        return this.send({ method: "GET", path: `/v1/orders`, keys: "secret", query }, options);
    }
    /**
     * List the items of the catalog.
     *
     * Return items with all their fields, in the form in which they are pushed.
     *
     * Pages hold up to `limit` items, fewer where they are large. Deleted items are in none.
     */
    listItems(query = {}, options = {}) {
        return this.send({ method: "GET", path: `/v1/items`, keys: "secret", query }, options);
    }
    /**
     * Create or update items.
     *
     * Create or update up to 1000 items; fields that an item does not have stay unchanged.
     *
     * New ids are created, known ones updated, all of them or none. `null` resets a field to
     * its default. Every reply shows it within a second. New ids count for the plan's catalog
     * limit: a push that would exceed it is rejected as a whole. Updates always pass.
     * `warnings` names unknown fields, which are ignored, and values that look wrong.
     *
     * A retry with the `Idempotency-Key` and the body of a call of the last day changes
     * nothing and gets its reply again, with `Idempotent-Replayed: true`.
     */
    pushItems(body, options = {}) {
        return this.send({ method: "POST", path: `/v1/items`, keys: "secret", body, isIdempotent: true }, options);
    }
    /**
     * Return an item.
     *
     * Return an item of the catalog with all its fields, in the form of a push.
     */
    getItem(itemId, options = {}) {
        return this.send({ method: "GET", path: `/v1/items/${this.escaped(itemId)}`, keys: "secret" }, options);
    }
    /**
     * Delete an item.
     *
     * Delete an item from the catalog; its orders and events stay for statistics.
     *
     * It is never shown again, even during a training. If it is pushed again, it counts as
     * new.
     */
    deleteItem(itemId, options = {}) {
        return this.send({ method: "DELETE", path: `/v1/items/${this.escaped(itemId)}`, keys: "secret" }, options);
    }
    /**
     * Return an order.
     *
     * Return an order; of an id that was accepted again after seven days, the latest.
     */
    getOrder(orderId, options = {}) {
        return this.send({ method: "GET", path: `/v1/orders/${this.escaped(orderId)}`, keys: "secret" }, options);
    }
    /**
     * Upload an order history.
     *
     * Upload a CSV of past orders; `GET /orders/upload/{upload_id}` returns its progress.
     *
     * Rows are overwritten by later ones of the same order and item, in this file and in files
     * uploaded later; fields that a file does not have stay unchanged. A retry with the
     * `Idempotency-Key` and the file of a call of the last day gets the id of that upload
     * again.
     */
    uploadOrders(file, options = {}) {
        return this.send({ method: "POST", path: `/orders/upload`, keys: "secret", file, isIdempotent: true }, options);
    }
    /**
     * Return the progress of an upload.
     *
     * Return the progress of an upload, what it changed, and the first skipped rows.
     *
     * Unreadable dates are counted: those lines have the date of submission.
     */
    getUpload(uploadId, options = {}) {
        return this.send({ method: "GET", path: `/orders/upload/${this.escaped(uploadId)}`, keys: "secret" }, options);
    }
    /**
     * Connect a store.
     *
     * Record the platform and the time of the first call; repeating it is harmless.
     *
     * A platform that was set before is never overwritten: the reply shows the current one. A
     * body without a platform, or no body, means `woocommerce` until one is set. `domain` is
     * the domain of the store, which names its scripts.
     */
    connect(body, options = {}) {
        return this.send({ method: "POST", path: `/integration/connect`, keys: "secret", body }, options);
    }
    /**
     * Let a merchant into the dashboard.
     *
     * Return a path that begins one session of the store's login with this e-mail.
     *
     * Without an e-mail it is the session of the store's first owner. Where the store has no
     * such login, the path is the dashboard's, which asks for a password, and `signs_in` is
     * false. A login with a second factor is asked for its code.
     */
    dashboardLink(body, options = {}) {
        return this.send({ method: "POST", path: `/integration/dashboard-link`, keys: "secret", body }, options);
    }
    /**
     * Return the recommendation settings.
     *
     * Return the current settings; those that were never set have their default.
     */
    readRecommenderSettings(options = {}) {
        return this.send({ method: "GET", path: `/integration/recommender-settings`, keys: "secret" }, options);
    }
    /**
     * Change the recommendation settings.
     *
     * Change the settings in the body and leave the rest; null resets one to its default.
     *
     * Every reply follows within a second.
     */
    changeRecommenderSettings(body, options = {}) {
        return this.send({ method: "PUT", path: `/integration/recommender-settings`, keys: "secret", body }, options);
    }
    /**
     * Return a widget's saved settings.
     *
     * Return the saved settings; `GET /v1/widget-config` adds the defaults.
     */
    readWidgetConfig(query = {}, options = {}) {
        return this.send({ method: "GET", path: `/integration/widget-config`, keys: "secret", query }, options);
    }
    /**
     * Change a widget's settings.
     *
     * Merge the body with the saved settings; settings that are not in it stay.
     *
     * A setting that is null returns to its default, and so do `custom_css` and `scoped`;
     * `settings` that are null leave all settings unchanged. Unknown keys are stored for the
     * theme. Concurrent changes are merged one after the other.
     */
    changeWidgetConfig(body, query = {}, options = {}) {
        return this.send({ method: "PUT", path: `/integration/widget-config`, keys: "secret", query, body }, options);
    }
    /**
     * List bundles, rejected sets and proposals.
     *
     * Return every bundle with its price and margin, and the sets worth offering.
     */
    listBundles(options = {}) {
        return this.send({ method: "GET", path: `/integration/bundles`, keys: "secret" }, options);
    }
    /**
     * Accept or reject a proposal, or add a bundle.
     *
     * Store a set of two to four products; `state` is `accepted` unless the body says so.
     *
     * A rejected set is not proposed again. For a proposal that was changed, send its own
     * products as `proposed_item_ids`.
     */
    addBundle(body, options = {}) {
        return this.send({ method: "POST", path: `/integration/bundles`, keys: "secret", body }, options);
    }
    /**
     * Change a bundle.
     *
     * Change the fields in the body and leave the rest; null removes a discount or a name.
     *
     * With `version`, nothing is stored if the bundle has changed since: 409.
     */
    changeBundle(body, query, options = {}) {
        return this.send({ method: "PUT", path: `/integration/bundles`, keys: "secret", query, body }, options);
    }
    /**
     * Delete a bundle.
     *
     * Delete an accepted bundle, which no page shows then, or forget a rejection.
     *
     * Orders that were made with the bundle's discount are not affected.
     */
    deleteBundle(query, options = {}) {
        return this.send({ method: "DELETE", path: `/integration/bundles`, keys: "secret", query }, options);
    }
    /**
     * List goods on order.
     *
     * Return what was ordered and has not arrived, by product.
     *
     * A line ends when it is removed, on the page *Order sheets* or by the next list.
     */
    listPurchaseOrders(options = {}) {
        return this.send({ method: "GET", path: `/integration/purchase-orders`, keys: "secret" }, options);
    }
    /**
     * Replace the goods on order.
     *
     * Store these lines instead of all others: what your purchasing system has open.
     *
     * The order sheets subtract what arrives in time. A repeat changes nothing.
     */
    replacePurchaseOrders(body, options = {}) {
        return this.send({ method: "PUT", path: `/integration/purchase-orders`, keys: "secret", body }, options);
    }
    /**
     * List the tests of placements and of search.
     *
     * Return every test; its result is the report `experiment` with its name.
     */
    listTests(options = {}) {
        return this.send({ method: "GET", path: `/integration/tests`, keys: "secret" }, options);
    }
    /**
     * Start, pause, stop or remove a test, or choose its winner.
     *
     * Start a draft, pause, stop or remove a test, or end it with a winner.
     *
     * The changes of a chosen variant become those of the placement, or of the store's
     * settings of search. Every reply follows within a second.
     */
    changeTest(body, options = {}) {
        return this.send({ method: "PUT", path: `/integration/tests`, keys: "secret", body }, options);
    }
    /**
     * Add a test of variants of a placement or of search.
     *
     * Add a test as a draft. Shoppers outside its variants are the control.
     */
    addTest(body, options = {}) {
        return this.send({ method: "POST", path: `/integration/tests`, keys: "secret", body }, options);
    }
    /**
     * Prepare the recommendation engines.
     *
     * Provision the engines; store the shop's currency, address and the like, when given.
     *
     * A currency that is no code of ISO 4217 is not stored; `warnings` then names the nearest
     * ones. Repeating the call is harmless. A waiting engine returns backfill until the store
     * has sent enough data; it is then ready within a minute, without another call.
     */
    initEngines(body, options = {}) {
        return this.send({ method: "POST", path: `/integration/engines/init`, keys: "secret", body }, options);
    }
    /**
     * Push the whole catalog to the engines again.
     *
     * Queue a full push of the catalog to the engines, and a training after it.
     *
     * Every change of the catalog reaches them within a second without this call.
     */
    syncEngines(options = {}) {
        return this.send({ method: "POST", path: `/integration/sync-engines`, keys: "secret" }, options);
    }
    /**
     * Train now.
     *
     * Enqueue a training.
     *
     * Usually unnecessary: the worker trains a store within a minute of new data.
     */
    train(query = {}, options = {}) {
        return this.send({ method: "POST", path: `/integration/train`, keys: "secret", query }, options);
    }
    /**
     * Return the store's status.
     *
     * Return counts and times; a time is null where nothing happened yet.
     *
     * `last_sync` is when the catalog last reached the engines: by a push, a deletion or a
     * full push. Where very much is to be counted, `events_30d` and `orders_30d` may be up to
     * a minute old.
     */
    status(options = {}) {
        return this.send({ method: "GET", path: `/integration/status`, keys: "secret" }, options);
    }
    /**
     * Link former ids of customers to their new ones.
     *
     * Give new ids the history of former ones, once, when your shop changes its ids.
     *
     * Lists and reports then know one customer. The former id shows nothing of the new one's
     * history to a caller with the publishable key. A repeat changes nothing.
     */
    linkCustomerIds(body, options = {}) {
        return this.send({ method: "POST", path: `/integration/customer-ids`, keys: "secret", body }, options);
    }
    /**
     * Return a report.
     *
     * Return a report; background jobs update its figures, seconds behind the events.
     *
     * Every figure and column has its definition. Money is in the store's currency unless
     * another is named.
     */
    report(query = {}, options = {}) {
        return this.send({ method: "GET", path: `/integration/report`, keys: "secret", query }, options);
    }
    /**
     * Return the products of a mail as JSON.
     *
     * Return up to 12 products, for mail tools that fill templates from an address.
     *
     * They are those that the pictures and links of the same mail show; `position` is ignored.
     */
    mailProducts(slot, query = {}, options = {}) {
        return this.send({ method: "GET", path: `/v1/mail/products/${this.escaped(slot)}`, keys: "publishable", query }, options);
    }
}
