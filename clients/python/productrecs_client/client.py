"""The client, and the same for asyncio.

Made by `python -m tools.clients`; do not change it by hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from productrecs_client.transport import AsyncTransport, Call, Transport, escaped
from productrecs_client.types import (
    AnalyzePhotoReply,
    Bundle,
    Connect,
    ConnectReply,
    CustomerIds,
    DashboardLink,
    DashboardLinkReply,
    DeleteBundleReply,
    DeleteItemReply,
    EnginesInit,
    Event,
    Experiment,
    ExperimentAction,
    ForecastItemReply,
    ForecastSummaryReply,
    GetUploadReply,
    InitEnginesReply,
    ItemsPush,
    LinkCustomerIdsReply,
    ListBundlesReply,
    ListItemsReply,
    ListOrdersReply,
    ListPurchaseOrdersReply,
    ListTestsReply,
    LookReply,
    MailProductsReply,
    Order,
    Photo,
    PhotoSearch,
    PurchaseOrders,
    PushItemsReply,
    RecommenderSettings,
    RecommendReply,
    ReplacePurchaseOrdersReply,
    ReportReply,
    SearchByPhotoReply,
    SearchReply,
    SortOrder,
    Source,
    StatusReply,
    StoredBundle,
    StoredItem,
    StoredOrder,
    StoredRecommenderSettings,
    StoredTest,
    StoredWidgetConfig,
    SyncEnginesReply,
    SyncOrderReply,
    TrackReply,
    TrainingTarget,
    TrainReply,
    TrendingReply,
    UploadOrdersReply,
    WidgetConfig,
)

if TYPE_CHECKING:
    from typing import BinaryIO


class ProductRecs(Transport):
    """The service, for one store: each method is one call."""

    def recommend(
        self,
        *,
        assistant: bool | None = None,
        num: int | None = None,
        source: Source | None = None,
        item_id: str | None = None,
        item_ids: str | None = None,
        user_id: str | None = None,
        customer_id: str | None = None,
        exclude: str | None = None,
        shown: int | None = None,
        anchor: bool | None = None,
        filter: list[str] | None = None,
        placement: str | None = None,
        session_id: str | None = None,
        identity: str | None = None,
        price_list: str | None = None,
    ) -> RecommendReply:
        """Recommend products for a product page, a cart or a shopper.

        Return products for the request, each with the `source` that suggested it.

        `item_id` is the page's product, `item_ids` the cart's; with neither the list is
        based on the shopper, and without a shopper on what sells. `buy` returns only
        products that were bought together, `browse` uses the shopper's own history,
        `similar` needs `item_id`. With `anchor=true` the reply also has the page's own
        product, as `anchor`; null if it may not be shown.

        Args:
            assistant: The call is that of an assistant in the shopper's browser:
                the reply is the same, and the dashboard counts it, if the store allows
                such assistants.
            num: How many products; default: the store's setting.
            source: The engines to use; `buy` is never padded.
            item_id: The item of the product page.
            item_ids: The items in the cart, comma-separated, up to 50.
            user_id: The shopper's id.
            customer_id: The customer id; it takes precedence over the others.
            exclude: Ids that the page already shows, comma-separated, up to 100:
                they are left out.
            shown: Accepted and ignored.
            anchor: Whether the reply includes the product of `item_id`.
            filter: Filters on the results: `categories:NAME`, `price:LOW..HIGH`
                (also `LOW..`, `..HIGH`, and `LOW..<HIGH` without HIGH itself),
                `in_stock:true`, `on_sale:true`, `brand:NAME`, `color:NAME`,
                `size:NAME`, `material:NAME`, `attributes.NAME:VALUE`. May be repeated:
                filters of one kind are alternatives, different kinds must all match.
            placement: A placement's name: its strategy, filters and limits make the
                list. It takes the place of `source`.
            session_id: The session, if `user_id` is another id: lists may use what
                this session did, whoever the shopper is.
            identity: The signed identity of `customer_id`, or of `user_id` without
                one: `<expires>.<signature>`. The list then uses the customer's whole
                history. A wrong or expired one counts as none.
            price_list: The price list to show, filter and sort by: a currency
                (`USD`), a customer group (`group:trade`) or both (`USD:group:trade`).
                The list of a group needs the secret key, unless the setting
                `public_price_groups` names the group. Default: the usual prices.
        """
        call = Call(
            "GET",
            "/v1/recommendations",
            "either",
            query={
                "assistant": assistant,
                "num": num,
                "source": source,
                "item_id": item_id,
                "item_ids": item_ids,
                "user_id": user_id,
                "customer_id": customer_id,
                "exclude": exclude,
                "shown": shown,
                "anchor": anchor,
                "filter": filter,
                "placement": placement,
                "session_id": session_id,
                "identity": identity,
                "price_list": price_list,
            },
        )
        return self._send(RecommendReply, call)

    def trending(
        self,
        *,
        num: int | None = None,
        user_id: str | None = None,
        exclude: str | None = None,
        filter: list[str] | None = None,
        price_list: str | None = None,
    ) -> TrendingReply:
        """List what sells right now, the same for everybody.

        Return the products that trend by the store's metric and look-back window.

        By orders over 30 days, unless the store's settings say otherwise. It is never
        personal; a shopper in the held-out arm of the store's test gets an empty list.

        Args:
            num: How many products; default: the store's setting.
            user_id: The session id, used only for the holdout test.
            exclude: Ids that the page already shows, comma-separated, up to 100:
                they are left out.
            filter: Filters on the results: `categories:NAME`, `price:LOW..HIGH`
                (also `LOW..`, `..HIGH`, and `LOW..<HIGH` without HIGH itself),
                `in_stock:true`, `on_sale:true`, `brand:NAME`, `color:NAME`,
                `size:NAME`, `material:NAME`, `attributes.NAME:VALUE`. May be repeated:
                filters of one kind are alternatives, different kinds must all match.
            price_list: The price list to show, filter and sort by: a currency
                (`USD`), a customer group (`group:trade`) or both (`USD:group:trade`).
                The list of a group needs the secret key, unless the setting
                `public_price_groups` names the group. Default: the usual prices.
        """
        call = Call(
            "GET",
            "/v1/trending",
            "either",
            query={
                "num": num,
                "user_id": user_id,
                "exclude": exclude,
                "filter": filter,
                "price_list": price_list,
            },
        )
        return self._send(TrendingReply, call)

    def search(
        self,
        *,
        assistant: bool | None = None,
        q: str | None = None,
        num: int | None = None,
        in_stock: bool | None = None,
        filter: list[str] | None = None,
        facets: str | None = None,
        sort: SortOrder | None = None,
        offset: int | None = None,
        highlight: bool | None = None,
        suggest: int | None = None,
        query_filters: str | None = None,
        collapse: bool | None = None,
        refine: bool | None = None,
        answered: str | None = None,
        user_id: str | None = None,
        customer_id: str | None = None,
        session_id: str | None = None,
        identity: str | None = None,
        price_list: str | None = None,
    ) -> SearchReply:
        """Search products, also while the shopper types.

        Return the products that match the query, best first.

        Typing mistakes are corrected, and the last word may be unfinished. A whole SKU,
        GTIN or id answers with its product alone, and `redirect` is the product's page.
        If no word matches, `results` is empty.

        Words that name a price, size, brand, colour or material may filter the results:
        `filters` in the reply says which.

        Optional: filters, facets, sorting, paging, highlights and suggestions; the
        reply has only what was requested.

        Args:
            assistant: The call is that of an assistant in the shopper's browser:
                the reply is the same, and the dashboard counts it, if the store allows
                such assistants.
            q: The query; cut at 256 characters. Empty: trending products.
            num: How many products.
            in_stock: Only products that can be bought.
            filter: Filters on the results: `categories:NAME`, `price:LOW..HIGH`
                (also `LOW..`, `..HIGH`, and `LOW..<HIGH` without HIGH itself),
                `in_stock:true`, `on_sale:true`, `brand:NAME`, `color:NAME`,
                `size:NAME`, `material:NAME`, `attributes.NAME:VALUE`. May be repeated:
                filters of one kind are alternatives, different kinds must all match.
            facets: The facets to count, comma-separated: `categories`, `price`,
                `in_stock`, `on_sale`, `brand`, `color`, `size`, `material`, and
                `attributes` for all further attributes, those that the most results
                have first.
            sort: The order of the results.
            offset: How many results to skip: those of the pages before.
            highlight: Whether each result marks the parts of its texts that match
                the query.
            suggest: How many queries to suggest; each has results.
            query_filters: What words of the query may filter by: `all`, `none`, or
                some of `price`, `on_sale`, `size`, `brand`, `color` and `material`,
                comma-separated. Others stay words.
            collapse: Whether products that differ only in size and colour are one
                result, with their number as `variants`. Default: `false`, unless the
                setting `search_collapse` is `always`.
            refine: Whether to return the question that narrows the results most.
            answered: The `attribute` of the question that this search answers with
                its filter, so that the answer counts.
            user_id: The shopper, with the same id as in events: the search report
                then knows which searches led to a click.
            customer_id: The customer, if known; takes precedence over `user_id`.
            session_id: The session, if there is no `user_id`.
            identity: The signed identity of `customer_id`, or of `user_id` without
                one: `<expires>.<signature>`. The list then uses the customer's whole
                history. A wrong or expired one counts as none.
            price_list: The price list to show, filter and sort by: a currency
                (`USD`), a customer group (`group:trade`) or both (`USD:group:trade`).
                The list of a group needs the secret key, unless the setting
                `public_price_groups` names the group. Default: the usual prices.
        """
        call = Call(
            "GET",
            "/v1/search",
            "either",
            query={
                "assistant": assistant,
                "q": q,
                "num": num,
                "in_stock": in_stock,
                "filter": filter,
                "facets": facets,
                "sort": sort,
                "offset": offset,
                "highlight": highlight,
                "suggest": suggest,
                "query_filters": query_filters,
                "collapse": collapse,
                "refine": refine,
                "answered": answered,
                "user_id": user_id,
                "customer_id": customer_id,
                "session_id": session_id,
                "identity": identity,
                "price_list": price_list,
            },
        )
        return self._send(SearchReply, call)

    def search_by_photo(
        self, body: PhotoSearch, *, price_list: str | None = None
    ) -> SearchByPhotoReply:
        """Find products similar to a photo.

        Return the products whose pictures look like the photo, most similar first.

        A product whose barcode (EAN, UPC, ISBN) the photo shows comes before all
        others. Words that are printed on what the photo shows count as well, if the
        server can read them.

        The photo is turned upright and compared as a whole and by its foreground. It is
        neither stored nor logged. `score` is the similarity, 0 to 1. While a store has
        no indexed pictures, `results` is empty. With `regions: true` the reply also has
        up to eight regions of the photo, as POST /v1/shop-the-look/analyze returns
        them.

        Args:
            price_list: The price list to show, filter and sort by: a currency
                (`USD`), a customer group (`group:trade`) or both (`USD:group:trade`).
                The list of a group needs the secret key, unless the setting
                `public_price_groups` names the group. Default: the usual prices.
        """
        call = Call(
            "POST",
            "/v1/search/image",
            "publishable",
            query={"price_list": price_list},
            body=body,
        )
        return self._send(SearchByPhotoReply, call)

    def analyze_photo(
        self, body: Photo, *, price_list: str | None = None
    ) -> AnalyzePhotoReply:
        """Find the store's products in a photo.

        Return up to eight regions of the photo, most certain first, with their
        products.

        A region has a label, a box (fractions of the upright photo, from its top left),
        its confidence, and up to six similar products. The list is empty if nothing was
        recognised. The photo is not stored.

        Args:
            price_list: The price list to show, filter and sort by: a currency
                (`USD`), a customer group (`group:trade`) or both (`USD:group:trade`).
                The list of a group needs the secret key, unless the setting
                `public_price_groups` names the group. Default: the usual prices.
        """
        call = Call(
            "POST",
            "/v1/shop-the-look/analyze",
            "publishable",
            query={"price_list": price_list},
            body=body,
        )
        return self._send(AnalyzePhotoReply, call)

    def look(
        self,
        *,
        item_id: str | None = None,
        price_list: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        updated_after: str | None = None,
    ) -> LookReply:
        """Return the look of a product page, or list all looks.

        Return the look of a product that was published last; null where there is none.

        Boxes are fractions of the upright picture, from its top left. A product that
        cannot be shown now leaves its hotspot with `product` null.

        With the secret key and without `item_id`, the reply lists all published looks
        in pages, by their ids, without `product`; `cursor`, `limit` and `updated_after`
        are of this list.

        Args:
            item_id: The product of the page; required with the publishable key.
            price_list: The price list to show, filter and sort by: a currency
                (`USD`), a customer group (`group:trade`) or both (`USD:group:trade`).
                The list of a group needs the secret key, unless the setting
                `public_price_groups` names the group. Default: the usual prices.
            cursor: `next` of the page before.
            limit: The most to return.
            updated_after: Only what was received or changed after this ISO time.
        """
        call = Call(
            "GET",
            "/v1/looks",
            "either",
            query={
                "item_id": item_id,
                "price_list": price_list,
                "cursor": cursor,
                "limit": limit,
                "updated_after": updated_after,
            },
        )
        return self._send(LookReply, call)

    def widget_config(
        self,
        *,
        type: str | None = None,
        lang: str | None = None,
        price_list: str | None = None,
    ) -> StoredWidgetConfig:
        """Return a widget's settings.

        Return a widget's settings; a type without saved settings has the defaults.

        The currency, the locale and the number of products come from the store's
        settings if the widget has none of its own.

        Args:
            type: The widget: recs, fbt, cart, search, ...
            lang: The page's language, for texts without a setting.
            price_list: The price list of the page's products, whose currency
                counts.
        """
        call = Call(
            "GET",
            "/v1/widget-config",
            "publishable",
            query={"type": type, "lang": lang, "price_list": price_list},
        )
        return self._send(StoredWidgetConfig, call)

    def forecast_summary(self) -> ForecastSummaryReply:
        """Forecast a store's sales.

        Return the store's forecast for the 28 days after `generated_at`, by day.

        `mean` is the expected value, which may be summed; `p50` is the median; in four
        of five days the amount is between `p10` and `p90`. All are in units or order
        lines, see `target_mode`. `accuracy` is the accuracy of the same forecast in
        past weeks, beside the better of two simple baselines. Needs the demand add-on;
        without it, and before its first run, lists are empty and the rest is null.
        """
        call = Call("GET", "/v1/forecast/summary", "either")
        return self._send(ForecastSummaryReply, call)

    def forecast_item(self, item_id: str) -> ForecastItemReply:
        """Forecast one product's sales.

        Return one product's demand for the 28 days after `generated_at`, and its cover.

        `method` says whether the model learned from all products had a part in it
        (`lgbm`) or the product's own past and its category's alone (`statistical`).
        `days_of_cover` is how long `stock_qty` lasts from tomorrow on, at the expected
        pace.
        """
        call = Call("GET", f"/v1/forecast/items/{escaped(item_id)}", "either")
        return self._send(ForecastItemReply, call)

    def track(self, body: Event | list[Event]) -> TrackReply:
        """Record shopper events.

        Record one event, or an array of up to 500, in the order in which they happened.

        The reply is sent when they are on the disk. `event_id` makes a retry harmless
        for seven days. Accepted but suspicious values, and fields that are unknown and
        ignored, are listed in `warnings`.
        """
        call = Call("POST", "/v1/events", "publishable", body=body)
        return self._send(TrackReply, call)

    def sync_order(self, body: Order) -> SyncOrderReply:
        """Record an order.

        Store an order with its lines; a repeat within seven days changes nothing.

        Each line counts as a purchase. Send it from your server with the secret key; a
        page may send it with the publishable key. `warnings` names unknown fields,
        which are ignored, and values that look wrong.
        """
        call = Call("POST", "/v1/orders", "either", body=body)
        return self._send(SyncOrderReply, call)

    def list_orders(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        updated_after: str | None = None,
        fields: Literal["id"] | None = None,
        confirmed: bool | None = None,
    ) -> ListOrdersReply:
        """List orders.

        Return orders by their ids, however they came: calls, files and `buy` events.

        An order id that was accepted again after seven days is there for each time.

        Args:
            cursor: `next` of the page before.
            limit: The most to return.
            updated_after: Only what was received or changed after this ISO time.
            fields: `id` returns the ids alone, as texts.
            confirmed: `true`: only orders sent with the secret key or in a file;
                `false`: only the others.
        """
        call = Call(
            "GET",
            "/v1/orders",
            "secret",
            query={
                "cursor": cursor,
                "limit": limit,
                "updated_after": updated_after,
                "fields": fields,
                "confirmed": confirmed,
            },
        )
        return self._send(ListOrdersReply, call)

    def list_items(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        updated_after: str | None = None,
        fields: Literal["id"] | None = None,
    ) -> ListItemsReply:
        """List the items of the catalog.

        Return items with all their fields, in the form in which they are pushed.

        Pages hold up to `limit` items, fewer where they are large. Deleted items are in
        none.

        Args:
            cursor: `next` of the page before.
            limit: The most to return.
            updated_after: Only what was received or changed after this ISO time.
            fields: `id` returns the ids alone, as texts.
        """
        call = Call(
            "GET",
            "/v1/items",
            "secret",
            query={
                "cursor": cursor,
                "limit": limit,
                "updated_after": updated_after,
                "fields": fields,
            },
        )
        return self._send(ListItemsReply, call)

    def push_items(
        self, body: ItemsPush, *, idempotency_key: str | None = None
    ) -> PushItemsReply:
        """Create or update items.

        Create or update up to 1000 items; fields that an item does not have stay
        unchanged.

        New ids are created, known ones updated, all of them or none. `null` resets a
        field to its default. Every reply shows it within a second. New ids count for
        the plan's catalog limit: a push that would exceed it is rejected as a whole.
        Updates always pass. `warnings` names unknown fields, which are ignored, and
        values that look wrong.

        A retry with the `Idempotency-Key` and the body of a call of the last day
        changes nothing and gets its reply again, with `Idempotent-Replayed: true`.
        """
        call = Call(
            "POST",
            "/v1/items",
            "secret",
            body=body,
            is_idempotent=True,
            idempotency_key=idempotency_key,
        )
        return self._send(PushItemsReply, call)

    def get_item(self, item_id: str) -> StoredItem:
        """Return an item.

        Return an item of the catalog with all its fields, in the form of a push.
        """
        call = Call("GET", f"/v1/items/{escaped(item_id)}", "secret")
        return self._send(StoredItem, call)

    def delete_item(self, item_id: str) -> DeleteItemReply:
        """Delete an item.

        Delete an item from the catalog; its orders and events stay for statistics.

        It is never shown again, even during a training. If it is pushed again, it
        counts as new.
        """
        call = Call("DELETE", f"/v1/items/{escaped(item_id)}", "secret")
        return self._send(DeleteItemReply, call)

    def get_order(self, order_id: str) -> StoredOrder:
        """Return an order.

        Return an order; of an id that was accepted again after seven days, the latest.
        """
        call = Call("GET", f"/v1/orders/{escaped(order_id)}", "secret")
        return self._send(StoredOrder, call)

    def upload_orders(
        self, file: bytes | BinaryIO, *, idempotency_key: str | None = None
    ) -> UploadOrdersReply:
        """Upload an order history.

        Upload a CSV of past orders; `GET /orders/upload/{upload_id}` returns its
        progress.

        Rows are overwritten by later ones of the same order and item, in this file and
        in files uploaded later; fields that a file does not have stay unchanged. A
        retry with the `Idempotency-Key` and the file of a call of the last day gets the
        id of that upload again.
        """
        call = Call(
            "POST",
            "/orders/upload",
            "secret",
            file=file,
            is_idempotent=True,
            idempotency_key=idempotency_key,
        )
        return self._send(UploadOrdersReply, call)

    def get_upload(self, upload_id: str) -> GetUploadReply:
        """Return the progress of an upload.

        Return the progress of an upload, what it changed, and the first skipped rows.

        Unreadable dates are counted: those lines have the date of submission.
        """
        call = Call("GET", f"/orders/upload/{escaped(upload_id)}", "secret")
        return self._send(GetUploadReply, call)

    def connect(self, body: Connect) -> ConnectReply:
        """Connect a store.

        Record the platform and the time of the first call; repeating it is harmless.

        A platform that was set before is never overwritten: the reply shows the current
        one. A body without a platform, or no body, means `woocommerce` until one is
        set. `domain` is the domain of the store, which names its scripts.
        """
        call = Call("POST", "/integration/connect", "secret", body=body)
        return self._send(ConnectReply, call)

    def dashboard_link(self, body: DashboardLink) -> DashboardLinkReply:
        """Let a merchant into the dashboard.

        Return a path that begins one session of the store's login with this e-mail.

        Without an e-mail it is the session of the store's first owner. Where the store
        has no such login, the path is the dashboard's, which asks for a password, and
        `signs_in` is false. A login with a second factor is asked for its code.
        """
        call = Call("POST", "/integration/dashboard-link", "secret", body=body)
        return self._send(DashboardLinkReply, call)

    def read_recommender_settings(self) -> StoredRecommenderSettings:
        """Return the recommendation settings.

        Return the current settings; those that were never set have their default.
        """
        call = Call("GET", "/integration/recommender-settings", "secret")
        return self._send(StoredRecommenderSettings, call)

    def change_recommender_settings(
        self, body: RecommenderSettings
    ) -> StoredRecommenderSettings:
        """Change the recommendation settings.

        Change the settings in the body and leave the rest; null resets one to its
        default.

        Every reply follows within a second.
        """
        call = Call("PUT", "/integration/recommender-settings", "secret", body=body)
        return self._send(StoredRecommenderSettings, call)

    def read_widget_config(self, *, type: str | None = None) -> StoredWidgetConfig:
        """Return a widget's saved settings.

        Return the saved settings; `GET /v1/widget-config` adds the defaults.

        Args:
            type: The widget: recs, fbt, cart, search, ...
        """
        call = Call("GET", "/integration/widget-config", "secret", query={"type": type})
        return self._send(StoredWidgetConfig, call)

    def change_widget_config(
        self, body: WidgetConfig, *, type: str | None = None
    ) -> StoredWidgetConfig:
        """Change a widget's settings.

        Merge the body with the saved settings; settings that are not in it stay.

        A setting that is null returns to its default, and so do `custom_css` and
        `scoped`; `settings` that are null leave all settings unchanged. Unknown keys
        are stored for the theme. Concurrent changes are merged one after the other.

        Args:
            type: The widget: recs, fbt, cart, search, or a name of your own.
        """
        call = Call(
            "PUT", "/integration/widget-config", "secret", query={"type": type}, body=body
        )
        return self._send(StoredWidgetConfig, call)

    def list_bundles(self) -> ListBundlesReply:
        """List bundles, rejected sets and proposals.

        Return every bundle with its price and margin, and the sets worth offering.
        """
        call = Call("GET", "/integration/bundles", "secret")
        return self._send(ListBundlesReply, call)

    def add_bundle(self, body: Bundle) -> StoredBundle:
        """Accept or reject a proposal, or add a bundle.

        Store a set of two to four products; `state` is `accepted` unless the body says
        so.

        A rejected set is not proposed again. For a proposal that was changed, send its
        own products as `proposed_item_ids`.
        """
        call = Call("POST", "/integration/bundles", "secret", body=body)
        return self._send(StoredBundle, call)

    def change_bundle(self, body: Bundle, *, id: int) -> StoredBundle:
        """Change a bundle.

        Change the fields in the body and leave the rest; null removes a discount or a
        name.

        With `version`, nothing is stored if the bundle has changed since: 409.

        Args:
            id: The bundle's number.
        """
        call = Call("PUT", "/integration/bundles", "secret", query={"id": id}, body=body)
        return self._send(StoredBundle, call)

    def delete_bundle(self, *, id: int) -> DeleteBundleReply:
        """Delete a bundle.

        Delete an accepted bundle, which no page shows then, or forget a rejection.

        Orders that were made with the bundle's discount are not affected.

        Args:
            id: The bundle's number.
        """
        call = Call("DELETE", "/integration/bundles", "secret", query={"id": id})
        return self._send(DeleteBundleReply, call)

    def list_purchase_orders(self) -> ListPurchaseOrdersReply:
        """List goods on order.

        Return what was ordered and has not arrived, by product.

        A line ends when it is removed, on the page *Order sheets* or by the next list.
        """
        call = Call("GET", "/integration/purchase-orders", "secret")
        return self._send(ListPurchaseOrdersReply, call)

    def replace_purchase_orders(self, body: PurchaseOrders) -> ReplacePurchaseOrdersReply:
        """Replace the goods on order.

        Store these lines instead of all others: what your purchasing system has open.

        The order sheets subtract what arrives in time. A repeat changes nothing.
        """
        call = Call("PUT", "/integration/purchase-orders", "secret", body=body)
        return self._send(ReplacePurchaseOrdersReply, call)

    def list_tests(self) -> ListTestsReply:
        """List the tests of placements and of search.

        Return every test; its result is the report `experiment` with its name.
        """
        call = Call("GET", "/integration/tests", "secret")
        return self._send(ListTestsReply, call)

    def change_test(self, body: ExperimentAction) -> StoredTest:
        """Start, pause, stop or remove a test, or choose its winner.

        Start a draft, pause, stop or remove a test, or end it with a winner.

        The changes of a chosen variant become those of the placement, or of the store's
        settings of search. Every reply follows within a second.
        """
        call = Call("PUT", "/integration/tests", "secret", body=body)
        return self._send(StoredTest, call)

    def add_test(self, body: Experiment) -> StoredTest:
        """Add a test of variants of a placement or of search.

        Add a test as a draft. Shoppers outside its variants are the control.
        """
        call = Call("POST", "/integration/tests", "secret", body=body)
        return self._send(StoredTest, call)

    def init_engines(self, body: EnginesInit) -> InitEnginesReply:
        """Prepare the recommendation engines.

        Provision the engines; store the shop's currency, address and the like, when
        given.

        A currency that is no code of ISO 4217 is not stored; `warnings` then names the
        nearest ones. Repeating the call is harmless. A waiting engine returns backfill
        until the store has sent enough data; it is then ready within a minute, without
        another call.
        """
        call = Call("POST", "/integration/engines/init", "secret", body=body)
        return self._send(InitEnginesReply, call)

    def sync_engines(self) -> SyncEnginesReply:
        """Push the whole catalog to the engines again.

        Queue a full push of the catalog to the engines, and a training after it.

        Every change of the catalog reaches them within a second without this call.
        """
        call = Call("POST", "/integration/sync-engines", "secret")
        return self._send(SyncEnginesReply, call)

    def train(self, *, engine: TrainingTarget | None = None) -> TrainReply:
        """Train now.

        Enqueue a training.

        Usually unnecessary: the worker trains a store within a minute of new data.

        Args:
            engine: The engine that must be current; one training updates all
                engines.
        """
        call = Call("POST", "/integration/train", "secret", query={"engine": engine})
        return self._send(TrainReply, call)

    def status(self) -> StatusReply:
        """Return the store's status.

        Return counts and times; a time is null where nothing happened yet.

        `last_sync` is when the catalog last reached the engines: by a push, a deletion
        or a full push. Where very much is to be counted, `events_30d` and `orders_30d`
        may be up to a minute old.
        """
        call = Call("GET", "/integration/status", "secret")
        return self._send(StatusReply, call)

    def link_customer_ids(self, body: CustomerIds) -> LinkCustomerIdsReply:
        """Link former ids of customers to their new ones.

        Give new ids the history of former ones, once, when your shop changes its ids.

        Lists and reports then know one customer. The former id shows nothing of the new
        one's history to a caller with the publishable key. A repeat changes nothing.
        """
        call = Call("POST", "/integration/customer-ids", "secret", body=body)
        return self._send(LinkCustomerIdsReply, call)

    def report(
        self,
        *,
        name: str | None = None,
        from_: str | None = None,
        until: str | None = None,
        by: str | None = None,
        limit: int | None = None,
        test: str | None = None,
    ) -> ReportReply:
        """Return a report.

        Return a report; background jobs update its figures, seconds behind the events.

        Every figure and column has its definition. Money is in the store's currency
        unless another is named.

        Args:
            name: One of attribution, credited-sales, credited-items, search,
                search-no-results, search-no-clicks, widgets, experiment, customers,
                customer-list, health, earnings, demand, order-sheet, supplier-order,
                order-replay, forecast.
            from_: The first day, in the store's time zone; default: 30 days in
                total.
            until: The last day; default: today.
            by: The columns to group by.
            limit: The most rows to return.
            test: The test; default: the current holdout test.
        """
        call = Call(
            "GET",
            "/integration/report",
            "secret",
            query={
                "name": name,
                "from": from_,
                "until": until,
                "by": by,
                "limit": limit,
                "test": test,
            },
        )
        return self._send(ReportReply, call)

    def mail_products(
        self,
        slot: str,
        *,
        signature: str | None = None,
        user_id: str | None = None,
        campaign: str | None = None,
        item_ids: str | None = None,
        position: int | None = None,
        identity: str | None = None,
    ) -> MailProductsReply:
        """Return the products of a mail as JSON.

        Return up to 12 products, for mail tools that fill templates from an address.

        They are those that the pictures and links of the same mail show; `position` is
        ignored.

        Args:
            signature: Part of the address in the dashboard.
            user_id: The shopper's id, by a tag of the mail tool. An e-mail address,
                or a tag that was not filled in, counts as none.
            campaign: The campaign: each has products of its own.
            item_ids: Products that the mail is about, such as those of an order.
            position: Which product of the list, from 1.
            identity: The signed identity of `customer_id`, or of `user_id` without
                one: `<expires>.<signature>`. The list then uses the customer's whole
                history. A wrong or expired one counts as none.
        """
        call = Call(
            "GET",
            f"/v1/mail/products/{escaped(slot)}",
            "publishable",
            query={
                "signature": signature,
                "user_id": user_id,
                "campaign": campaign,
                "item_ids": item_ids,
                "position": position,
                "identity": identity,
            },
        )
        return self._send(MailProductsReply, call)


class AsyncProductRecs(AsyncTransport):
    """The service, for one store, for asyncio: each method is one call."""

    async def recommend(
        self,
        *,
        assistant: bool | None = None,
        num: int | None = None,
        source: Source | None = None,
        item_id: str | None = None,
        item_ids: str | None = None,
        user_id: str | None = None,
        customer_id: str | None = None,
        exclude: str | None = None,
        shown: int | None = None,
        anchor: bool | None = None,
        filter: list[str] | None = None,
        placement: str | None = None,
        session_id: str | None = None,
        identity: str | None = None,
        price_list: str | None = None,
    ) -> RecommendReply:
        """Recommend products for a product page, a cart or a shopper: see
        `ProductRecs.recommend`.
        """
        call = Call(
            "GET",
            "/v1/recommendations",
            "either",
            query={
                "assistant": assistant,
                "num": num,
                "source": source,
                "item_id": item_id,
                "item_ids": item_ids,
                "user_id": user_id,
                "customer_id": customer_id,
                "exclude": exclude,
                "shown": shown,
                "anchor": anchor,
                "filter": filter,
                "placement": placement,
                "session_id": session_id,
                "identity": identity,
                "price_list": price_list,
            },
        )
        return await self._send(RecommendReply, call)

    async def trending(
        self,
        *,
        num: int | None = None,
        user_id: str | None = None,
        exclude: str | None = None,
        filter: list[str] | None = None,
        price_list: str | None = None,
    ) -> TrendingReply:
        """List what sells right now, the same for everybody: see `ProductRecs.trending`."""
        call = Call(
            "GET",
            "/v1/trending",
            "either",
            query={
                "num": num,
                "user_id": user_id,
                "exclude": exclude,
                "filter": filter,
                "price_list": price_list,
            },
        )
        return await self._send(TrendingReply, call)

    async def search(
        self,
        *,
        assistant: bool | None = None,
        q: str | None = None,
        num: int | None = None,
        in_stock: bool | None = None,
        filter: list[str] | None = None,
        facets: str | None = None,
        sort: SortOrder | None = None,
        offset: int | None = None,
        highlight: bool | None = None,
        suggest: int | None = None,
        query_filters: str | None = None,
        collapse: bool | None = None,
        refine: bool | None = None,
        answered: str | None = None,
        user_id: str | None = None,
        customer_id: str | None = None,
        session_id: str | None = None,
        identity: str | None = None,
        price_list: str | None = None,
    ) -> SearchReply:
        """Search products, also while the shopper types: see `ProductRecs.search`."""
        call = Call(
            "GET",
            "/v1/search",
            "either",
            query={
                "assistant": assistant,
                "q": q,
                "num": num,
                "in_stock": in_stock,
                "filter": filter,
                "facets": facets,
                "sort": sort,
                "offset": offset,
                "highlight": highlight,
                "suggest": suggest,
                "query_filters": query_filters,
                "collapse": collapse,
                "refine": refine,
                "answered": answered,
                "user_id": user_id,
                "customer_id": customer_id,
                "session_id": session_id,
                "identity": identity,
                "price_list": price_list,
            },
        )
        return await self._send(SearchReply, call)

    async def search_by_photo(
        self, body: PhotoSearch, *, price_list: str | None = None
    ) -> SearchByPhotoReply:
        """Find products similar to a photo: see `ProductRecs.search_by_photo`."""
        call = Call(
            "POST",
            "/v1/search/image",
            "publishable",
            query={"price_list": price_list},
            body=body,
        )
        return await self._send(SearchByPhotoReply, call)

    async def analyze_photo(
        self, body: Photo, *, price_list: str | None = None
    ) -> AnalyzePhotoReply:
        """Find the store's products in a photo: see `ProductRecs.analyze_photo`."""
        call = Call(
            "POST",
            "/v1/shop-the-look/analyze",
            "publishable",
            query={"price_list": price_list},
            body=body,
        )
        return await self._send(AnalyzePhotoReply, call)

    async def look(
        self,
        *,
        item_id: str | None = None,
        price_list: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        updated_after: str | None = None,
    ) -> LookReply:
        """Return the look of a product page, or list all looks: see `ProductRecs.look`."""
        call = Call(
            "GET",
            "/v1/looks",
            "either",
            query={
                "item_id": item_id,
                "price_list": price_list,
                "cursor": cursor,
                "limit": limit,
                "updated_after": updated_after,
            },
        )
        return await self._send(LookReply, call)

    async def widget_config(
        self,
        *,
        type: str | None = None,
        lang: str | None = None,
        price_list: str | None = None,
    ) -> StoredWidgetConfig:
        """Return a widget's settings: see `ProductRecs.widget_config`."""
        call = Call(
            "GET",
            "/v1/widget-config",
            "publishable",
            query={"type": type, "lang": lang, "price_list": price_list},
        )
        return await self._send(StoredWidgetConfig, call)

    async def forecast_summary(self) -> ForecastSummaryReply:
        """Forecast a store's sales: see `ProductRecs.forecast_summary`."""
        call = Call("GET", "/v1/forecast/summary", "either")
        return await self._send(ForecastSummaryReply, call)

    async def forecast_item(self, item_id: str) -> ForecastItemReply:
        """Forecast one product's sales: see `ProductRecs.forecast_item`."""
        call = Call("GET", f"/v1/forecast/items/{escaped(item_id)}", "either")
        return await self._send(ForecastItemReply, call)

    async def track(self, body: Event | list[Event]) -> TrackReply:
        """Record shopper events: see `ProductRecs.track`."""
        call = Call("POST", "/v1/events", "publishable", body=body)
        return await self._send(TrackReply, call)

    async def sync_order(self, body: Order) -> SyncOrderReply:
        """Record an order: see `ProductRecs.sync_order`."""
        call = Call("POST", "/v1/orders", "either", body=body)
        return await self._send(SyncOrderReply, call)

    async def list_orders(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        updated_after: str | None = None,
        fields: Literal["id"] | None = None,
        confirmed: bool | None = None,
    ) -> ListOrdersReply:
        """List orders: see `ProductRecs.list_orders`."""
        call = Call(
            "GET",
            "/v1/orders",
            "secret",
            query={
                "cursor": cursor,
                "limit": limit,
                "updated_after": updated_after,
                "fields": fields,
                "confirmed": confirmed,
            },
        )
        return await self._send(ListOrdersReply, call)

    async def list_items(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        updated_after: str | None = None,
        fields: Literal["id"] | None = None,
    ) -> ListItemsReply:
        """List the items of the catalog: see `ProductRecs.list_items`."""
        call = Call(
            "GET",
            "/v1/items",
            "secret",
            query={
                "cursor": cursor,
                "limit": limit,
                "updated_after": updated_after,
                "fields": fields,
            },
        )
        return await self._send(ListItemsReply, call)

    async def push_items(
        self, body: ItemsPush, *, idempotency_key: str | None = None
    ) -> PushItemsReply:
        """Create or update items: see `ProductRecs.push_items`."""
        call = Call(
            "POST",
            "/v1/items",
            "secret",
            body=body,
            is_idempotent=True,
            idempotency_key=idempotency_key,
        )
        return await self._send(PushItemsReply, call)

    async def get_item(self, item_id: str) -> StoredItem:
        """Return an item: see `ProductRecs.get_item`."""
        call = Call("GET", f"/v1/items/{escaped(item_id)}", "secret")
        return await self._send(StoredItem, call)

    async def delete_item(self, item_id: str) -> DeleteItemReply:
        """Delete an item: see `ProductRecs.delete_item`."""
        call = Call("DELETE", f"/v1/items/{escaped(item_id)}", "secret")
        return await self._send(DeleteItemReply, call)

    async def get_order(self, order_id: str) -> StoredOrder:
        """Return an order: see `ProductRecs.get_order`."""
        call = Call("GET", f"/v1/orders/{escaped(order_id)}", "secret")
        return await self._send(StoredOrder, call)

    async def upload_orders(
        self, file: bytes | BinaryIO, *, idempotency_key: str | None = None
    ) -> UploadOrdersReply:
        """Upload an order history: see `ProductRecs.upload_orders`."""
        call = Call(
            "POST",
            "/orders/upload",
            "secret",
            file=file,
            is_idempotent=True,
            idempotency_key=idempotency_key,
        )
        return await self._send(UploadOrdersReply, call)

    async def get_upload(self, upload_id: str) -> GetUploadReply:
        """Return the progress of an upload: see `ProductRecs.get_upload`."""
        call = Call("GET", f"/orders/upload/{escaped(upload_id)}", "secret")
        return await self._send(GetUploadReply, call)

    async def connect(self, body: Connect) -> ConnectReply:
        """Connect a store: see `ProductRecs.connect`."""
        call = Call("POST", "/integration/connect", "secret", body=body)
        return await self._send(ConnectReply, call)

    async def dashboard_link(self, body: DashboardLink) -> DashboardLinkReply:
        """Let a merchant into the dashboard: see `ProductRecs.dashboard_link`."""
        call = Call("POST", "/integration/dashboard-link", "secret", body=body)
        return await self._send(DashboardLinkReply, call)

    async def read_recommender_settings(self) -> StoredRecommenderSettings:
        """Return the recommendation settings: see `ProductRecs.read_recommender_settings`."""
        call = Call("GET", "/integration/recommender-settings", "secret")
        return await self._send(StoredRecommenderSettings, call)

    async def change_recommender_settings(
        self, body: RecommenderSettings
    ) -> StoredRecommenderSettings:
        """Change the recommendation settings: see
        `ProductRecs.change_recommender_settings`.
        """
        call = Call("PUT", "/integration/recommender-settings", "secret", body=body)
        return await self._send(StoredRecommenderSettings, call)

    async def read_widget_config(self, *, type: str | None = None) -> StoredWidgetConfig:
        """Return a widget's saved settings: see `ProductRecs.read_widget_config`."""
        call = Call("GET", "/integration/widget-config", "secret", query={"type": type})
        return await self._send(StoredWidgetConfig, call)

    async def change_widget_config(
        self, body: WidgetConfig, *, type: str | None = None
    ) -> StoredWidgetConfig:
        """Change a widget's settings: see `ProductRecs.change_widget_config`."""
        call = Call(
            "PUT", "/integration/widget-config", "secret", query={"type": type}, body=body
        )
        return await self._send(StoredWidgetConfig, call)

    async def list_bundles(self) -> ListBundlesReply:
        """List bundles, rejected sets and proposals: see `ProductRecs.list_bundles`."""
        call = Call("GET", "/integration/bundles", "secret")
        return await self._send(ListBundlesReply, call)

    async def add_bundle(self, body: Bundle) -> StoredBundle:
        """Accept or reject a proposal, or add a bundle: see `ProductRecs.add_bundle`."""
        call = Call("POST", "/integration/bundles", "secret", body=body)
        return await self._send(StoredBundle, call)

    async def change_bundle(self, body: Bundle, *, id: int) -> StoredBundle:
        """Change a bundle: see `ProductRecs.change_bundle`."""
        call = Call("PUT", "/integration/bundles", "secret", query={"id": id}, body=body)
        return await self._send(StoredBundle, call)

    async def delete_bundle(self, *, id: int) -> DeleteBundleReply:
        """Delete a bundle: see `ProductRecs.delete_bundle`."""
        call = Call("DELETE", "/integration/bundles", "secret", query={"id": id})
        return await self._send(DeleteBundleReply, call)

    async def list_purchase_orders(self) -> ListPurchaseOrdersReply:
        """List goods on order: see `ProductRecs.list_purchase_orders`."""
        call = Call("GET", "/integration/purchase-orders", "secret")
        return await self._send(ListPurchaseOrdersReply, call)

    async def replace_purchase_orders(
        self, body: PurchaseOrders
    ) -> ReplacePurchaseOrdersReply:
        """Replace the goods on order: see `ProductRecs.replace_purchase_orders`."""
        call = Call("PUT", "/integration/purchase-orders", "secret", body=body)
        return await self._send(ReplacePurchaseOrdersReply, call)

    async def list_tests(self) -> ListTestsReply:
        """List the tests of placements and of search: see `ProductRecs.list_tests`."""
        call = Call("GET", "/integration/tests", "secret")
        return await self._send(ListTestsReply, call)

    async def change_test(self, body: ExperimentAction) -> StoredTest:
        """Start, pause, stop or remove a test, or choose its winner: see
        `ProductRecs.change_test`.
        """
        call = Call("PUT", "/integration/tests", "secret", body=body)
        return await self._send(StoredTest, call)

    async def add_test(self, body: Experiment) -> StoredTest:
        """Add a test of variants of a placement or of search: see `ProductRecs.add_test`."""
        call = Call("POST", "/integration/tests", "secret", body=body)
        return await self._send(StoredTest, call)

    async def init_engines(self, body: EnginesInit) -> InitEnginesReply:
        """Prepare the recommendation engines: see `ProductRecs.init_engines`."""
        call = Call("POST", "/integration/engines/init", "secret", body=body)
        return await self._send(InitEnginesReply, call)

    async def sync_engines(self) -> SyncEnginesReply:
        """Push the whole catalog to the engines again: see `ProductRecs.sync_engines`."""
        call = Call("POST", "/integration/sync-engines", "secret")
        return await self._send(SyncEnginesReply, call)

    async def train(self, *, engine: TrainingTarget | None = None) -> TrainReply:
        """Train now: see `ProductRecs.train`."""
        call = Call("POST", "/integration/train", "secret", query={"engine": engine})
        return await self._send(TrainReply, call)

    async def status(self) -> StatusReply:
        """Return the store's status: see `ProductRecs.status`."""
        call = Call("GET", "/integration/status", "secret")
        return await self._send(StatusReply, call)

    async def link_customer_ids(self, body: CustomerIds) -> LinkCustomerIdsReply:
        """Link former ids of customers to their new ones: see
        `ProductRecs.link_customer_ids`.
        """
        call = Call("POST", "/integration/customer-ids", "secret", body=body)
        return await self._send(LinkCustomerIdsReply, call)

    async def report(
        self,
        *,
        name: str | None = None,
        from_: str | None = None,
        until: str | None = None,
        by: str | None = None,
        limit: int | None = None,
        test: str | None = None,
    ) -> ReportReply:
        """Return a report: see `ProductRecs.report`."""
        call = Call(
            "GET",
            "/integration/report",
            "secret",
            query={
                "name": name,
                "from": from_,
                "until": until,
                "by": by,
                "limit": limit,
                "test": test,
            },
        )
        return await self._send(ReportReply, call)

    async def mail_products(
        self,
        slot: str,
        *,
        signature: str | None = None,
        user_id: str | None = None,
        campaign: str | None = None,
        item_ids: str | None = None,
        position: int | None = None,
        identity: str | None = None,
    ) -> MailProductsReply:
        """Return the products of a mail as JSON: see `ProductRecs.mail_products`."""
        call = Call(
            "GET",
            f"/v1/mail/products/{escaped(slot)}",
            "publishable",
            query={
                "signature": signature,
                "user_id": user_id,
                "campaign": campaign,
                "item_ids": item_ids,
                "position": position,
                "identity": identity,
            },
        )
        return await self._send(MailProductsReply, call)
