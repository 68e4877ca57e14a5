"""Types of bodies and replies.

Made by `python -m tools.clients`; do not change it by hand.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class AnalyzePhotoReply(TypedDict):
    """Analyze photo reply."""

    hotspots: list[PhotoRegion]


class AttributeFacet(TypedDict):
    """Attribute facet."""

    name: str
    values: list[FacetValue]
    """Sorted by the number of results, at most a hundred."""


class Bundle(TypedDict):
    """A bundle. When one is changed, absent fields keep their values."""

    item_ids: NotRequired[list[str | int]]
    """The ids of its two to four products, in order."""
    name: NotRequired[str | None]
    """A name for the merchant and the shop."""
    state: NotRequired[BundleState]
    """`rejected` sets are not proposed again."""
    discount_percent: NotRequired[float | str | None]
    """Above 0 and below 100; not together with an amount."""
    discount_amount: NotRequired[float | str | None]
    """In the store's currency; below the sum of the prices."""
    proposed_item_ids: NotRequired[list[str | int]]
    """The products of the proposal, if they were changed."""
    version: NotRequired[int | str | None]
    """Of the bundle that is changed, as it was read."""


BundleState: TypeAlias = "Literal['accepted', 'rejected']"


class Connect(TypedDict):
    """The connected system. Absent or null fields keep their values."""

    platform: NotRequired[ShopPlatform | None]
    """The store's platform; `woocommerce` until one is set."""
    plugin_version: NotRequired[str | None]
    """The version of the calling plugin."""
    store_url: NotRequired[str | None]
    """The address of the store."""
    publishable_key: NotRequired[str | None]
    """The key of the shop's pages: one of another store is refused."""


class ConnectReply(TypedDict):
    """Connect reply."""

    ok: Literal[True]
    platform: Literal["woocommerce", "prestashop", "magento", "opencart", "custom"]
    plugin_version: str | None
    store_url: str | None
    first_connected_at: str
    domain: str


class CustomerId(TypedDict):
    """A customer's former id, and the one that the shop sends from now on."""

    old: str | int
    new: str | int


class CustomerIds(TypedDict):
    """Former ids of customers and their new ones; the new id gets the history."""

    customers: list[CustomerId]


class DashboardLink(TypedDict):
    """Who wants to see the dashboard."""

    email: NotRequired[str | None]
    """The merchant's e-mail; without it, the store's first owner."""


class DashboardLinkReply(TypedDict):
    """Dashboard link reply."""

    path: str
    signs_in: bool


class DeleteBundleReply(TypedDict):
    """Delete bundle reply."""

    ok: Literal[True]
    id: int


class DeleteItemReply(TypedDict):
    """Delete item reply."""

    ok: Literal[True]
    id: str


class EnginesInit(TypedDict):
    """Parameters of the engines. Absent or null fields keep their values."""

    store_url: NotRequired[str | None]
    """The address of the store."""
    currency: NotRequired[str | None]
    """The currency of prices: a code of ISO 4217, else it is not stored."""
    price_format: NotRequired[str | None]
    """The price 1234 as the shop writes it: `1.234,00 €`."""
    week_start: NotRequired[
        Literal[
            "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"
        ]
        | None
    ]
    """The day on which the weeks of reports begin."""
    contact_email: NotRequired[str | None]
    """Where answers to the e-mails about the store go."""


class Event(TypedDict):
    """One thing a shopper did; which fields count depends on `event`.

    `user_id` or `session_id` is required, and the product, category, value or query
    that the event is about.
    """

    event: Literal[
        "detail-page-view",
        "add-to-cart",
        "buy",
        "category-view",
        "search-pref",
        "search-click",
        "image-search-click",
        "metadata-pref",
        "rec-impression",
        "rec-click",
    ]
    item_id: NotRequired[str | int | None]
    """A product; for category-view and metadata-pref, a name or value."""
    user_id: NotRequired[str | int | None]
    """The customer; takes precedence if sent."""
    session_id: NotRequired[str | int | None]
    """The widgets' `pr_sid`."""
    order_id: NotRequired[str | int | None]
    """For buy: the order whose products were bought together."""
    value: NotRequired[float | str | None]
    """Unit price x units of the line."""
    currency: NotRequired[str | None]
    quantity: NotRequired[int | str | None]
    """Units; absent: unknown."""
    item_ids: NotRequired[list[str | int] | str | None]
    """For rec-impression: all products shown."""
    sources: NotRequired[list[str | None] | None]
    """One for each of `item_ids`."""
    positions: NotRequired[list[int | str | None] | None]
    """One for each of `item_ids`, from 1."""
    source: NotRequired[str | None]
    """Of rec-click."""
    position: NotRequired[int | str | None]
    """For a click on a list, from 1."""
    search_query: NotRequired[str | None]
    """For search-pref and search-click."""
    widget: NotRequired[str | None]
    """Recs, fbt, cart, trending, search, or yours."""
    event_id: NotRequired[str | int | None]
    """The idempotency key, for 7 days."""
    identity: NotRequired[str | None]
    """Proves that `user_id` is theirs."""


class Experiment(TypedDict):
    """A test: shoppers outside its variants get what the store has now."""

    name: str
    """Its name, such as `cart-size`."""
    placement: NotRequired[str | None]
    """The placement to test; without it, search is tested."""
    goal: NotRequired[Goal]
    """The metric that decides."""
    variants: list[Variant]
    """The variants beside the control."""


class ExperimentAction(TypedDict):
    """What happens to a test."""

    name: str
    """The test."""
    action: Literal["start", "pause", "stop", "choose", "remove"]
    """`choose` ends the test and applies `variant` for everybody."""
    variant: NotRequired[str]
    """The chosen variant, or `control`."""


class FacetValue(TypedDict):
    """Facet value."""

    value: str
    count: int


class Facets(TypedDict):
    """With `facets`: the number of results by facet. A facet is counted without its own
    filters.
    """

    categories: NotRequired[list[FacetValue]]
    """Sorted by the number of results, at most a hundred."""
    brand: NotRequired[list[FacetValue]]
    """Sorted by the number of results, at most a hundred."""
    color: NotRequired[list[FacetValue]]
    """Sorted by the number of results, at most a hundred."""
    size: NotRequired[list[FacetValue]]
    """Sorted by the number of results, at most a hundred."""
    material: NotRequired[list[FacetValue]]
    """Sorted by the number of results, at most a hundred."""
    attributes: NotRequired[list[AttributeFacet]]
    """Those that the most results have come first."""
    price: NotRequired[PriceFacet]
    in_stock: NotRequired[YesNoFacet]
    on_sale: NotRequired[YesNoFacet]


class ForecastAccuracy(TypedDict):
    """Forecast accuracy."""

    wape: float
    rmsse: float
    bias: float
    coverage_p10_p90: float
    baseline_rmsse: float


class ForecastDay(TypedDict):
    """Forecast day."""

    date: str
    mean: float
    p10: float
    p50: float
    p90: float


class ForecastItemReply(TypedDict):
    """Forecast item reply."""

    item_id: str
    method: Literal["lgbm", "statistical", None]
    target_mode: Literal["units", "order_lines", None]
    generated_at: str | None
    forecast: list[ForecastDay]
    stock_qty: int | None
    days_of_cover: float | None
    stockout_date: str | None


class ForecastSummaryReply(TypedDict):
    """Forecast summary reply."""

    enabled: bool
    target_mode: Literal["units", "order_lines", None]
    currency: str | None
    generated_at: str | None
    horizon_days: Literal[28]
    history: list[SalesDay]
    forecast: list[ForecastDay]
    totals: ForecastTotals | None
    accuracy: ForecastAccuracy | None


class ForecastTotal(TypedDict):
    """Forecast total."""

    p10: float
    p50: float
    p90: float


class ForecastTotals(TypedDict):
    """Forecast totals."""

    next_7_days: ForecastTotal
    next_28_days: ForecastTotal


class GetUploadReply(TypedDict):
    """Get upload reply."""

    upload_id: str
    status: Literal["queued", "running", "done", "failed"]
    rows: int
    lines_imported: int
    lines_updated: int
    rows_skipped: int
    errors: list[RowProblem]
    rows_undated: int
    undated: list[RowProblem]


Goal: TypeAlias = "Literal['clicks', 'carts', 'orders', 'revenue', 'margin']"


class Highlight(TypedDict):
    """With `highlight=true`: the parts that match the query, as HTML, in <mark>; null if
    none does. Everything else in it is escaped.
    """

    title: str | None
    description: str | None


class InitEnginesReply(TypedDict):
    """Init engines reply."""

    ok: Literal[True]
    engines: InitEnginesReplyEngines
    warnings: NotRequired[list[str]]


class InitEnginesReplyEngines(TypedDict):
    """Init engines reply engines."""

    buy: Literal["ready", "waiting"]
    browse: Literal["ready", "waiting"]
    complementary: Literal["ready", "waiting"]
    trending: Literal["ready", "waiting"]


class Item(TypedDict):
    """One product. Absent fields keep their stored values; null resets one."""

    id: str | int
    """The id that events, orders and replies use."""
    sku: NotRequired[str | int | None]
    """The merchant's own code; only displayed."""
    title: NotRequired[str | None]
    product_url: NotRequired[str | None]
    image_url: NotRequired[str | None]
    price: NotRequired[float | str | None]
    availability: NotRequired[
        Literal["in_stock", "out_of_stock", "preorder", "backorder", "discontinued"]
        | str
        | None
    ]
    """Absent or null: derived from `stock_qty` (0 is out of stock)."""
    stock_qty: NotRequired[int | str | None]
    """Units in stock."""
    cost: NotRequired[float | str | None]
    categories: NotRequired[list[str] | None]
    category_ids: NotRequired[list[str | int] | None]
    description: NotRequired[str | None]
    available_from: NotRequired[str | None]
    """The first day (or time) it may be shown, in the store's time zone."""
    available_until: NotRequired[str | None]
    """The last day (or time) it may be shown, in the store's time zone."""
    brand: NotRequired[str | None]
    """The manufacturer's or the label's name."""
    gtin: NotRequired[str | int | None]
    """The number under the barcode: GTIN, EAN, UPC or ISBN."""
    color: NotRequired[str | float | bool | list[str | float | bool] | None]
    """One colour, or a list of them."""
    size: NotRequired[str | float | bool | list[str | float | bool] | None]
    """One size, or a list of them."""
    material: NotRequired[str | float | bool | list[str | float | bool] | None]
    """One material, or a list of them."""
    attributes: NotRequired[
        dict[str, str | float | bool | list[str | float | bool] | None] | None
    ]
    """Further attributes: an object of names, each with its values."""
    list_price: NotRequired[float | str | None]
    """The price before a reduction. Above `price`, the item is on sale."""
    prices: NotRequired[dict[str, float | str | dict[str, Any] | None] | None]
    """Prices by market and customer group: an object of price lists (`USD`, `group:trade`,
    `USD:group:trade`), each with a price, or with `price` and `list_price`. A list that
    a push leaves out keeps its price; null removes it.
    """
    planned_price: NotRequired[float | str | None]
    """A price that will apply on days ahead, such as a sale's. The demand forecast alone
    reads it: push `price` when the days begin and end.
    """
    planned_price_from: NotRequired[str | None]
    """The first day (or time) of `planned_price`."""
    planned_price_until: NotRequired[str | None]
    """The last day (or time) of `planned_price`; null: no end."""


class ItemsPush(TypedDict):
    """A push of up to 1000 items: created or updated together, or not at all."""

    items: list[Item]


class LinkCustomerIdsReply(TypedDict):
    """Link customer ids reply."""

    ok: Literal[True]
    linked: int


class ListBundlesReply(TypedDict):
    """List bundles reply."""

    bundles: list[StoredBundle]


class ListItemsReply(TypedDict):
    """List items reply."""

    items: list[StoredItem | str]
    next: str | None


class ListOrdersReply(TypedDict):
    """List orders reply."""

    items: list[StoredOrder | str]
    next: str | None


class ListPrices(TypedDict):
    """List prices."""

    price: float | None
    list_price: float | None


class ListPurchaseOrdersReply(TypedDict):
    """List purchase orders reply."""

    lines: list[StoredPurchaseOrderLine]


class ListTestsReply(TypedDict):
    """List tests reply."""

    tests: list[StoredTest]


class ListedLook(TypedDict):
    """Listed look."""

    id: str
    title: str
    image_url: str
    item_id: str
    hotspots: list[ListedLookHotspot]
    published_at: str
    updated_at: str


class ListedLookHotspot(TypedDict):
    """Listed look hotspot."""

    label: str
    bbox: list[float]
    """X, y, width and height as fractions of the upright picture, from its top left
    corner.
    """
    item_id: str


class Look(TypedDict):
    """Look."""

    id: str
    title: str
    image_url: str
    item_id: str
    hotspots: list[LookHotspot]
    published_at: str


class LookHotspot(TypedDict):
    """Look hotspot."""

    label: str
    bbox: list[float]
    """X, y, width and height as fractions of the upright picture, from its top left
    corner.
    """
    item_id: str
    product: Product | None


class LookReply(TypedDict):
    """Look reply."""

    look: NotRequired[Look | None]
    items: NotRequired[list[ListedLook]]
    next: NotRequired[str | None]


class MailProduct(TypedDict):
    """Mail product."""

    position: int
    id: str
    title: str
    price: NotRequired[float | None]
    price_text: NotRequired[str]
    """As the shop writes prices."""
    image_url: str
    """The product's own picture."""
    link_url: str
    """Counts the click."""


class MailProductsReply(TypedDict):
    """Mail products reply."""

    products: list[MailProduct]


class Order(TypedDict):
    """One order; the same `order_id` within 7 days is acknowledged and not stored again."""

    order_id: str | int
    """The idempotency key, for 7 days."""
    user_id: NotRequired[str | int | None]
    """The customer, if known."""
    session_id: NotRequired[str | int | None]
    """The widgets' `pr_sid`."""
    identity: NotRequired[str | None]
    """Proves that `user_id` is theirs."""
    currency: NotRequired[str | None]
    ordered_at: NotRequired[str | None]
    """The time of purchase, when you send it late: at most 30 days ago. Needs the secret
    key. Without it, the order was placed just now.
    """
    items: list[OrderLine]


class OrderLine(TypedDict):
    """One line. An absent `quantity` is unknown and counts as 1 in revenue and units."""

    item_id: str | int
    quantity: NotRequired[int | str | None]
    price: NotRequired[float | str | None]
    """The price of one unit."""
    total: NotRequired[float | str | None]
    """The line's revenue; price x quantity when absent."""


class Photo(TypedDict):
    """A photo: JPEG, PNG, WebP, AVIF or GIF, up to 10 MiB and 25 megapixels.

    A PNG, WebP or AVIF may have 8.
    """

    image: str
    """Base64; a `data:` prefix, line breaks and URL-safe letters are accepted."""


class PhotoRegion(TypedDict):
    """Photo region."""

    label: str
    bbox: list[float]
    """X, y, width and height as fractions of the upright picture, from its top left
    corner.
    """
    confidence: float
    products: list[Product]


class PhotoSearch(TypedDict):
    """A photo, and how many products that look like it are wanted."""

    image: str
    """Base64; a `data:` prefix, line breaks and URL-safe letters are accepted."""
    num: NotRequired[int | str | None]
    """How many products; default 12."""
    in_stock: NotRequired[bool | None]
    """Only products that can be bought; null means no."""
    regions: NotRequired[bool | None]
    """Also the photo's regions, each with its products, for a photo that shows several
    things; null means no.
    """


class PlacementReply(TypedDict):
    """With `placement`: its name, the list's title (null without one), how many products
    it shows, and the number below which it is hidden. While a test of it runs, also the
    test and the shopper's variant.
    """

    name: str
    title: str | None
    num: int
    minimum: int
    test: NotRequired[str]
    variant: NotRequired[str]


class PriceFacet(TypedDict):
    """Price facet."""

    min: float | None
    max: float | None
    ranges: list[PriceRange]
    """Price ranges `from` a price to below `to`; `filter` selects one."""


PriceRange = TypedDict(
    "PriceRange",
    {
        "from": "float | None",
        "to": "float | None",
        "count": "int",
        "filter": "str",
    },
)


class Product(TypedDict):
    """One product of a reply; `source` is the engine that suggested it."""

    id: str
    title: str
    price: float | None
    currency: NotRequired[str]
    """With `price_list`: the currency of the list's prices."""
    image_url: str | None
    product_url: str | None
    score: NotRequired[float]
    """Scores decrease down the list; compare them within one reply only."""
    source: NotRequired[
        Literal[
            "buy",
            "browse",
            "complementary",
            "similar",
            "category",
            "trending",
            "recently_viewed",
            "buy_again",
            "new",
            "bundle",
        ]
    ]
    """`buy`: bought together; `browse`: what similar visits continued with;
    `complementary`: bought together, from another category; `similar`: looks alike;
    `category`: best sellers of the category; `trending`: what sells right now;
    `recently_viewed`: viewed by this shopper before; `buy_again`: bought by this
    shopper before, and due again; `new`: newest in the catalog; `bundle`: in an
    accepted bundle with the product.
    """
    certain: NotRequired[bool]
    """With `anchor`, in `source=buy` lists: whether enough orders contain both products.
    The widget ticks only such products.
    """


class PurchaseOrderLine(TypedDict):
    """Units of one product that a supplier will deliver."""

    item_id: str | int
    """The product's id or SKU."""
    quantity: int | str | None
    expected_day: str
    """The day on which the goods can be sold."""
    supplier: NotRequired[str | None]


class PurchaseOrders(TypedDict):
    """All goods on order."""

    lines: list[PurchaseOrderLine]


class PushItemsReply(TypedDict):
    """Push items reply."""

    ok: Literal[True]
    created: int
    updated: int
    total: int
    warnings: NotRequired[list[str]]


class QueryFilter(TypedDict):
    """Query filter."""

    field: Literal["price", "on_sale", "size", "brand", "color", "material"]
    value: NotRequired[str]
    min: NotRequired[float]
    max: NotRequired[float]
    text: str


class RecommendReply(TypedDict):
    """Recommend reply."""

    recommendations: list[Product]
    warnings: NotRequired[list[str]]
    """Parameters that are unknown, and why the signed identity of the call was refused:
    the reply is as without them. Otherwise absent.
    """
    anchor: NotRequired[Product | None]
    """With `anchor=true`: the product of `item_id`; null if it may not be shown."""
    sold_out: NotRequired[bool]
    """True where the product of `item_id` cannot be bought and products that can replace
    it lead the list. Otherwise absent.
    """
    bundle: NotRequired[RecommendedBundle]
    placement: NotRequired[PlacementReply]


class RecommendedBundle(TypedDict):
    """With a placement of the strategy `bundle`: the bundle whose other parts are listed.
    `item_ids` has all its parts in order, `sum` the sum of their prices, `price` what
    is left after the discount. The shop itself applies the discount.
    """

    id: int
    name: str | None
    item_ids: list[str]
    sum: float | None
    discount_percent: NotRequired[float | None]
    discount_amount: NotRequired[float | None]
    price: float | None


class RecommenderSettings(TypedDict):
    """The settings to change. Absent ones keep their value, null resets to the default."""

    rec_num: NotRequired[int | str | None]
    """How many products a reply has when the request does not say; default 8."""
    allow_repeat_recommendations: NotRequired[bool | None]
    """Whether bought products may be recommended again; default no."""


class Refinement(TypedDict):
    """With `refine`: the question that narrows the results most; absent without one that
    halves them. `filter` selects the results of an option.
    """

    attribute: str
    question: str
    options: list[RefinementOption]


class RefinementOption(TypedDict):
    """Refinement option."""

    value: str
    count: int
    filter: str


class ReplacePurchaseOrdersReply(TypedDict):
    """Replace purchase orders reply."""

    ok: Literal[True]
    stored: int
    unknown: list[str]


class ReportColumn(TypedDict):
    """Report column."""

    name: str
    unit: str
    meaning: str


class ReportFigure(TypedDict):
    """Report figure."""

    name: str
    unit: str
    meaning: str
    value: str | float | bool | None


class ReportReply(TypedDict):
    """Report reply."""

    report: str
    title: str
    figures: list[ReportFigure]
    columns: list[ReportColumn]
    rows: list[dict[str, str | float | bool | None]]
    notes: list[str]


class Result(TypedDict):
    """One product of a search; `source` says whether words found it."""

    id: str
    title: str
    price: float | None
    currency: NotRequired[str]
    """With `price_list`: the currency of the list's prices."""
    image_url: str | None
    product_url: str | None
    score: NotRequired[float]
    """Scores decrease down the list; compare them within one reply only."""
    source: NotRequired[Literal["search", "similar", "trending"]]
    certain: NotRequired[bool]
    """With `anchor`, in `source=buy` lists: whether enough orders contain both products.
    The widget ticks only such products.
    """
    variants: NotRequired[int]
    """How many products that differ only in size and colour this result stands for: those
    that may be shown and pass the filters. Absent if it is one.
    """
    highlight: NotRequired[Highlight]


class RowProblem(TypedDict):
    """Row problem."""

    row: int
    message: str


class SalesDay(TypedDict):
    """Sales day."""

    date: str
    actual: float


class SearchByPhotoReply(TypedDict):
    """Search by photo reply."""

    results: list[Result]
    regions: NotRequired[list[PhotoRegion]]


class SearchReply(TypedDict):
    """Search reply."""

    results: list[Result]
    filters: NotRequired[list[QueryFilter]]
    """The filters that words of the query named, if any: a `value`, or a price `min` or
    `max`. `text` is those words.
    """
    redirect: NotRequired[str]
    """Where Enter leads: the merchant's redirect for this query, or the page of the only
    product with the code that the query is. Otherwise absent.
    """
    total: NotRequired[int]
    """The number of results, up to 20,000; with any of `filter`, `facets`, `sort` and
    `offset`.
    """
    facets: NotRequired[Facets]
    refine: NotRequired[Refinement]
    suggestions: NotRequired[list[str]]
    """With `suggest`: completions of the query, most likely first."""
    did_you_mean: NotRequired[str | None]
    """With `suggest`: the corrected query; null if there seems to be no mistake."""
    warnings: NotRequired[list[str]]
    """Parameters that are unknown, and why the signed identity of the call was refused:
    the reply is as without them. Otherwise absent.
    """


ShopPlatform: TypeAlias = (
    "Literal['woocommerce', 'prestashop', 'magento', 'opencart', 'custom']"
)


SortOrder: TypeAlias = (
    "Literal['relevance', 'price_asc', 'price_desc', 'newest', 'best_selling']"
)


Source: TypeAlias = "Literal['mix', 'buy', 'browse', 'similar']"


class StatusReply(TypedDict):
    """Status reply."""

    catalog_items: int
    last_sync: str | None
    last_trained: StatusReplyLastTrained
    platform: str | None
    first_connected_at: str | None
    events_30d: int
    orders_30d: int
    jobs: StatusReplyJobs
    images: StatusReplyImages


class StatusReplyImages(TypedDict):
    """Status reply images."""

    indexed: int
    pending: int
    failed: int
    usual_failure: str | None


class StatusReplyJobs(TypedDict):
    """Status reply jobs."""

    queued: int
    running: int
    failed: int


class StatusReplyLastTrained(TypedDict):
    """Status reply last trained."""

    buy: str | None
    browse: str | None
    complementary: str | None
    trending: str | None


class StoredBundle(TypedDict):
    """Stored bundle."""

    state: Literal["proposed", "accepted", "rejected"]
    item_ids: list[str]
    titles: list[str]
    is_shown: bool
    id: NotRequired[int | None]
    version: NotRequired[int | None]
    name: NotRequired[str | None]
    orders: NotRequired[int | None]
    lift: NotRequired[float | None]
    sum: NotRequired[float | None]
    discount_percent: NotRequired[float | None]
    discount_amount: NotRequired[float | None]
    price: NotRequired[float | None]
    cost: NotRequired[float | None]
    margin: NotRequired[float | None]


class StoredItem(TypedDict):
    """Stored item."""

    id: str
    sku: str | None
    gtin: str | None
    brand: str | None
    description: str | None
    title: str
    product_url: str | None
    image_url: str | None
    price: float | None
    list_price: float | None
    cost: float | None
    prices: dict[str, ListPrices]
    availability: str | None
    stock_qty: int | None
    categories: list[str]
    category_ids: list[str]
    color: list[str]
    size: list[str]
    material: list[str]
    attributes: dict[str, list[str]]
    available_from: str | None
    available_until: str | None
    planned_price: float | None
    planned_price_from: str | None
    planned_price_until: str | None
    created_at: str
    updated_at: str


class StoredOrder(TypedDict):
    """Stored order."""

    order_id: str
    ordered_at: str
    updated_at: str
    user_id: str | None
    session_id: str | None
    currency: str | None
    confirmed: bool
    items: list[StoredOrderLine]


class StoredOrderLine(TypedDict):
    """Stored order line."""

    item_id: str
    quantity: float | None
    price: float | None
    total: float | None


class StoredPurchaseOrderLine(TypedDict):
    """Stored purchase order line."""

    item_id: str
    quantity: int
    expected_day: str
    supplier: str | None


class StoredRecommenderSettings(TypedDict):
    """Stored recommender settings."""

    rec_num: int
    allow_repeat_recommendations: bool


class StoredTest(TypedDict):
    """Stored test."""

    name: str
    goal: str
    state: Literal["draft", "running", "paused", "ended"]
    control: float
    variants: list[StoredVariant]
    created_at: str
    placement: NotRequired[str | None]
    winner: NotRequired[str | None]
    started_at: NotRequired[str | None]
    ended_at: NotRequired[str | None]


class StoredVariant(TypedDict):
    """Stored variant."""

    name: str
    share: float
    changes: dict[str, Any]


class StoredWidgetConfig(TypedDict):
    """Stored widget config."""

    type: str
    settings: dict[str, Any]
    custom_css: str | None
    scoped: bool | None


class SyncEnginesReply(TypedDict):
    """Sync engines reply."""

    ok: Literal[True]
    job_id: str


class SyncOrderReply(TypedDict):
    """Sync order reply."""

    ok: Literal[True]
    order_id: str
    items_ingested: int
    duplicate: bool
    warnings: NotRequired[list[str]]


class TrackReply(TypedDict):
    """Track reply."""

    ok: Literal[True]
    warnings: NotRequired[list[str]]


class TrainReply(TypedDict):
    """Train reply."""

    ok: Literal[True]
    engine: Literal["buy", "browse", "both", "complementary"]
    job_id: str


TrainingTarget: TypeAlias = "Literal['buy', 'browse', 'both', 'complementary']"


class TrendingReply(TypedDict):
    """Trending reply."""

    recommendations: list[Product]
    warnings: NotRequired[list[str]]
    """Parameters that are unknown, and why the signed identity of the call was refused:
    the reply is as without them. Otherwise absent.
    """


class UploadOrdersReply(TypedDict):
    """Upload orders reply."""

    upload_id: str
    status: Literal["queued"]


class Variant(TypedDict):
    """A configuration that a share of the shoppers gets."""

    name: str
    """Its name, of 1 to 8 letters, digits and dashes."""
    share: float
    """The percentage of shoppers who get it."""
    changes: dict[str, Any]
    """Fields of the placement, or settings of search, with their new values."""


class WidgetConfig(TypedDict):
    """Changes of one widget's settings; absent ones keep their values."""

    settings: NotRequired[WidgetSettings | None]
    """Merged with the saved settings; null resets a key to its default."""
    custom_css: NotRequired[str | None]
    """Rules for the widget; null removes them."""
    scoped: NotRequired[bool | None]
    """Whether `custom_css` applies inside the widget only; null is the default, which is
    yes.
    """


WidgetSettings: TypeAlias = "dict[str, Any]"


class YesNoFacet(TypedDict):
    """Yes no facet."""

    true: int
    false: int
