CREATE TABLE public.access_tokens (
    store_id character varying(32) NOT NULL,
    token_id character varying(16) NOT NULL,
    name text NOT NULL,
    role character varying(16) NOT NULL,
    token_hash character varying(64) NOT NULL,
    confirmation_key character varying(64) NOT NULL,
    creator text NOT NULL,
    created_at bigint NOT NULL,
    used_at bigint,
    calls bigint DEFAULT '0'::bigint NOT NULL
);
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.assistant_attributions (
    store_id character varying(32) NOT NULL,
    parameter character varying(16) NOT NULL,
    value character varying(40) NOT NULL,
    day integer NOT NULL,
    searches bigint NOT NULL
);
CREATE TABLE public.assistant_calls (
    store_id character varying(32) NOT NULL,
    agent character varying(100) NOT NULL,
    operation character varying(24) NOT NULL,
    day integer NOT NULL,
    calls bigint NOT NULL,
    last_at bigint NOT NULL
);
CREATE TABLE public.attribution_marks (
    store_id character varying(32) NOT NULL,
    seq bigint NOT NULL,
    zone character varying(64) NOT NULL,
    version integer NOT NULL,
    language character varying(16) DEFAULT ''::character varying NOT NULL,
    settled_before bigint DEFAULT '0'::bigint NOT NULL,
    settled_day character varying(10) DEFAULT ''::character varying NOT NULL
);
CREATE TABLE public.audit_log (
    store_id character varying(32) NOT NULL,
    entry_id character varying(32) NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    detail text NOT NULL,
    undo text
);
CREATE TABLE public.bot_events (
    store_id character varying(32) NOT NULL,
    seq bigint NOT NULL,
    ts bigint NOT NULL,
    kind smallint NOT NULL,
    item bigint,
    shopper text NOT NULL,
    person text NOT NULL,
    session text,
    term text,
    value double precision,
    currency character varying(8),
    quantity bigint,
    source text,
    "position" bigint,
    widget text,
    imported boolean NOT NULL,
    bot character varying(64) NOT NULL
);
CREATE TABLE public.bundles (
    store_id character varying(32) NOT NULL,
    bundle_id bigint NOT NULL,
    content text NOT NULL,
    version bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.calendar_entries (
    store_id character varying(32) NOT NULL,
    number bigint NOT NULL,
    kind character varying(16) NOT NULL,
    name text NOT NULL,
    first_day character varying(10) NOT NULL,
    last_day character varying(10) NOT NULL,
    category text NOT NULL,
    expected_change double precision,
    created_at bigint NOT NULL,
    price_change double precision
);
CREATE TABLE public.counters (
    name character varying(32) NOT NULL,
    value bigint NOT NULL
);
CREATE TABLE public.credit_days (
    store_id character varying(32) NOT NULL,
    day character varying(10) NOT NULL,
    widget text NOT NULL,
    source text NOT NULL,
    "position" bigint NOT NULL,
    currency character varying(8) NOT NULL,
    carts bigint NOT NULL,
    carts_clicked bigint NOT NULL,
    cart_value double precision NOT NULL,
    lines bigint NOT NULL,
    lines_clicked bigint NOT NULL,
    units bigint NOT NULL,
    revenue double precision NOT NULL,
    revenue_clicked double precision NOT NULL
);
CREATE TABLE public.dashboard_challenges (
    store_id character varying(32) NOT NULL,
    token_hash character varying(64) NOT NULL,
    user_id character varying(32) NOT NULL,
    expires_at bigint NOT NULL,
    from_shop boolean
);
CREATE TABLE public.dashboard_invitations (
    store_id character varying(32) NOT NULL,
    token_hash character varying(64) NOT NULL,
    email character varying(320),
    role character varying(16) NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    maker character varying(32),
    mailed boolean
);
CREATE TABLE public.dashboard_resets (
    store_id character varying(32) NOT NULL,
    token_hash character varying(64) NOT NULL,
    user_id character varying(32) NOT NULL,
    expires_at bigint NOT NULL,
    mailed boolean
);
CREATE TABLE public.dashboard_second_factors (
    store_id character varying(32) NOT NULL,
    user_id character varying(32) NOT NULL,
    secret character varying(255) NOT NULL,
    enabled_at bigint,
    last_step bigint NOT NULL,
    recovery text NOT NULL
);
CREATE TABLE public.dashboard_sessions (
    store_id character varying(32) NOT NULL,
    token_hash character varying(64) NOT NULL,
    user_id character varying(32) NOT NULL,
    created_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    agent character varying(200),
    address character varying(64),
    from_shop boolean
);
CREATE TABLE public.dashboard_users (
    store_id character varying(32) NOT NULL,
    user_id character varying(32) NOT NULL,
    email character varying(320),
    role character varying(16) NOT NULL,
    password_hash character varying(255),
    created_at bigint NOT NULL,
    stock_mails boolean,
    login_id character varying(32),
    confirmed_at bigint,
    entered_at bigint,
    search_mails boolean,
    feed_mails boolean,
    weekly_mails boolean,
    weekly_mailed_at bigint
);
CREATE TABLE public.data_sizes (
    store_id character varying(32) NOT NULL,
    day character varying(10) NOT NULL,
    part character varying(16) NOT NULL,
    rows bigint NOT NULL,
    month_rows bigint NOT NULL,
    old_rows bigint NOT NULL,
    bytes bigint NOT NULL
);
CREATE TABLE public.duties (
    store_id character varying(32) NOT NULL,
    duty character varying(32) NOT NULL,
    due_at bigint NOT NULL
);
CREATE TABLE public.erased_names (
    store_id character varying(32) NOT NULL,
    name character varying(32) NOT NULL,
    erased_at bigint NOT NULL
);
CREATE TABLE public.erasures (
    store_id character varying(32) NOT NULL,
    erasure_id bigint NOT NULL,
    asked_at bigint NOT NULL,
    names text,
    events bigint NOT NULL,
    lines bigint NOT NULL,
    cleared_seq bigint,
    done_at bigint
);
CREATE TABLE public.event_hours (
    store_id character varying(32) NOT NULL,
    hour bigint NOT NULL,
    kind smallint NOT NULL,
    count bigint NOT NULL
);
CREATE TABLE public.event_receipts (
    store_id character varying(32) NOT NULL,
    event_id character varying(64) NOT NULL,
    received_at bigint NOT NULL
);
CREATE TABLE public.event_watches (
    store_id character varying(32) NOT NULL,
    until bigint NOT NULL
);
CREATE TABLE public.events (
    store_id character varying(32) NOT NULL,
    seq bigint NOT NULL,
    ts bigint NOT NULL,
    kind smallint NOT NULL,
    item bigint,
    shopper text NOT NULL,
    person text NOT NULL,
    session text,
    term text,
    value double precision,
    currency character varying(8),
    quantity bigint,
    source text,
    "position" bigint,
    widget text,
    imported boolean NOT NULL,
    excess boolean DEFAULT false NOT NULL
);
CREATE TABLE public.experiment_days (
    store_id character varying(32) NOT NULL,
    test character varying(64) NOT NULL,
    day character varying(10) NOT NULL,
    computed_at bigint NOT NULL,
    result text NOT NULL
);
CREATE TABLE public.experiments (
    store_id character varying(32) NOT NULL,
    name character varying(64) NOT NULL,
    number bigint NOT NULL,
    subject text NOT NULL,
    content text NOT NULL,
    state character varying(8) NOT NULL,
    created_at bigint NOT NULL,
    started_at bigint,
    started_seq bigint NOT NULL,
    ended_at bigint,
    winner character varying(8) NOT NULL
);
CREATE TABLE public.exposures (
    store_id character varying(32) NOT NULL,
    identity text NOT NULL,
    test character varying(64) NOT NULL,
    arm character varying(8) NOT NULL,
    unit text NOT NULL,
    first_at bigint NOT NULL
);
CREATE TABLE public.feed_fetches (
    store_id character varying(32) NOT NULL,
    feed character varying(16) NOT NULL,
    day integer NOT NULL,
    fetches bigint NOT NULL,
    last_at bigint NOT NULL,
    products bigint NOT NULL,
    left_out text NOT NULL
);
CREATE TABLE public.file_imports (
    store_id character varying(32) NOT NULL,
    import_id character varying(32) NOT NULL,
    number bigint NOT NULL,
    status character varying(16) NOT NULL,
    file_name character varying(255) NOT NULL,
    size bigint NOT NULL,
    sent_by character varying(320) NOT NULL,
    submitted_at bigint NOT NULL,
    ended_at bigint,
    choices text NOT NULL,
    progress double precision NOT NULL,
    attempts integer NOT NULL,
    preview text NOT NULL,
    result text NOT NULL,
    rejects text NOT NULL,
    mark text
);
CREATE TABLE public.forecast_drafts (
    store_id character varying(32) NOT NULL,
    fingerprint character varying(64) NOT NULL,
    verdict text NOT NULL
);
CREATE TABLE public.forecast_runs (
    store_id character varying(32) NOT NULL,
    generated_at bigint NOT NULL,
    first_day character varying(10) NOT NULL,
    target_mode character varying(16) NOT NULL,
    history text NOT NULL,
    total text NOT NULL,
    accuracy text,
    judged text,
    items bigint NOT NULL,
    learned bigint NOT NULL,
    seconds double precision NOT NULL,
    alerted text
);
CREATE TABLE public.import_changes (
    store_id character varying(32) NOT NULL,
    import_id character varying(32) NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    before text NOT NULL
);
CREATE TABLE public.imports (
    store_id character varying(32) NOT NULL,
    kind character varying(16) NOT NULL,
    digest character varying(64) NOT NULL,
    lines_done bigint NOT NULL,
    lines_added bigint DEFAULT '0'::bigint NOT NULL,
    lines_changed bigint DEFAULT '0'::bigint NOT NULL,
    submitted_at bigint NOT NULL,
    lines_repeated bigint DEFAULT '0'::bigint NOT NULL
);
CREATE TABLE public.insights (
    store_id character varying(32) NOT NULL,
    name character varying(32) NOT NULL,
    computed_at bigint NOT NULL,
    applied_seq bigint NOT NULL,
    result text NOT NULL
);
CREATE TABLE public.item_credit_days (
    store_id character varying(32) NOT NULL,
    day character varying(10) NOT NULL,
    item bigint NOT NULL,
    currency character varying(8) NOT NULL,
    carts bigint NOT NULL,
    carts_clicked bigint NOT NULL,
    lines bigint NOT NULL,
    lines_clicked bigint NOT NULL,
    units bigint NOT NULL,
    revenue double precision NOT NULL,
    revenue_clicked double precision NOT NULL
);
CREATE TABLE public.item_forecasts (
    store_id character varying(32) NOT NULL,
    item bigint NOT NULL,
    method character varying(16) NOT NULL,
    days text NOT NULL,
    expected double precision NOT NULL,
    spread double precision NOT NULL,
    sold text,
    ahead bytea,
    daily text,
    paid double precision
);
CREATE TABLE public.items (
    store_id character varying(32) NOT NULL,
    number bigint NOT NULL,
    item_id text NOT NULL,
    present boolean NOT NULL,
    change_seq bigint NOT NULL,
    sku text,
    title text DEFAULT ''::text NOT NULL,
    product_url text,
    image_url text,
    price double precision,
    availability character varying(16),
    stock_qty bigint,
    cost double precision,
    categories text DEFAULT '[]'::text NOT NULL,
    category_ids text DEFAULT '[]'::text NOT NULL,
    description text,
    available_from character varying(40),
    available_until character varying(40),
    brand text,
    gtin text,
    color text DEFAULT '[]'::text NOT NULL,
    size text DEFAULT '[]'::text NOT NULL,
    material text DEFAULT '[]'::text NOT NULL,
    attributes text DEFAULT '[]'::text NOT NULL,
    list_price double precision,
    prices text DEFAULT '[]'::text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.job_totals (
    store_id character varying(32) NOT NULL,
    kind character varying(32) NOT NULL,
    done bigint NOT NULL,
    retried bigint NOT NULL,
    dead bigint NOT NULL,
    milliseconds bigint NOT NULL,
    done_at bigint
);
CREATE TABLE public.jobs (
    store_id character varying(32) NOT NULL,
    job_id character varying(32) NOT NULL,
    kind character varying(32) NOT NULL,
    key character varying(128) NOT NULL,
    state character varying(16) NOT NULL,
    payload text NOT NULL,
    attempts integer NOT NULL,
    run_at bigint NOT NULL,
    token character varying(32),
    leased_until bigint,
    progress double precision,
    error text,
    created_at bigint NOT NULL,
    finished_at bigint
);
CREATE TABLE public.key_uses (
    store_id character varying(32) NOT NULL,
    key_id character varying(16) NOT NULL,
    used_at bigint NOT NULL,
    address character varying(64)
);
CREATE TABLE public.leases (
    store_id character varying(32) NOT NULL,
    task character varying(32) NOT NULL,
    holder character varying(64) NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE public.live_events (
    store_id character varying(32) NOT NULL,
    entry_id character varying(32) NOT NULL,
    at bigint NOT NULL,
    verdict character varying(16) NOT NULL,
    kind character varying(32) NOT NULL,
    session character varying(128) NOT NULL,
    item character varying(128) NOT NULL,
    client character varying(16) NOT NULL,
    detail text NOT NULL,
    body text NOT NULL
);
CREATE TABLE public.login_attempts (
    name_hash character varying(64) NOT NULL,
    full_at bigint NOT NULL
);
CREATE TABLE public.look_days (
    store_id character varying(32) NOT NULL,
    day character varying(10) NOT NULL,
    look text NOT NULL,
    item bigint NOT NULL,
    shown bigint NOT NULL,
    clicked bigint NOT NULL
);
CREATE TABLE public.look_pictures (
    store_id character varying(32) NOT NULL,
    picture_id character varying(32) NOT NULL,
    content bytea NOT NULL,
    width bigint NOT NULL,
    height bigint NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.look_versions (
    store_id character varying(32) NOT NULL,
    look_id bigint NOT NULL,
    version bigint NOT NULL,
    item_id text NOT NULL,
    image_url text NOT NULL,
    picture_id character varying(32),
    title text NOT NULL,
    hotspots text NOT NULL,
    updated_at bigint NOT NULL,
    updated_by character varying(320)
);
CREATE TABLE public.looks (
    store_id character varying(32) NOT NULL,
    look_id bigint NOT NULL,
    item_id text NOT NULL,
    image_url text NOT NULL,
    picture_id character varying(32),
    title text NOT NULL,
    hotspots text NOT NULL,
    state character varying(16) NOT NULL,
    published_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    updated_by character varying(320)
);
CREATE TABLE public.mail_choices (
    store_id character varying(32) NOT NULL,
    day integer NOT NULL,
    recipient bigint NOT NULL,
    mail character varying(32) NOT NULL,
    products text NOT NULL
);
CREATE TABLE public.mail_days (
    store_id character varying(32) NOT NULL,
    day integer NOT NULL,
    slot character varying(64) NOT NULL,
    pictures bigint NOT NULL,
    proxy_pictures bigint NOT NULL,
    clicks bigint NOT NULL
);
CREATE TABLE public.metered_calls (
    store_id character varying(32) NOT NULL,
    month character varying(7) NOT NULL,
    calls bigint NOT NULL
);
CREATE TABLE public.metering_rounds (
    sheet character varying(16) NOT NULL,
    round bigint NOT NULL
);
CREATE TABLE public.models (
    store_id character varying(32) NOT NULL,
    model_id character varying(64) NOT NULL,
    applied_seq bigint NOT NULL,
    catalog_seq bigint NOT NULL,
    settings_hash character varying(64) NOT NULL,
    trained_at bigint NOT NULL
);
CREATE TABLE public.named_calls (
    store_id character varying(32) NOT NULL,
    what character varying(16) NOT NULL,
    name character varying(255) NOT NULL,
    digest character varying(64) NOT NULL,
    answer text NOT NULL,
    stored_at bigint NOT NULL
);
CREATE TABLE public.order_receipts (
    store_id character varying(32) NOT NULL,
    order_id character varying(255) NOT NULL,
    receipt integer NOT NULL,
    received_at bigint NOT NULL
);
CREATE TABLE public.outcome_days (
    store_id character varying(32) NOT NULL,
    day character varying(10) NOT NULL,
    currency character varying(8) NOT NULL,
    carts bigint NOT NULL,
    cart_value double precision NOT NULL,
    lines bigint NOT NULL,
    units bigint NOT NULL,
    revenue double precision NOT NULL,
    orders bigint NOT NULL,
    orders_credited bigint NOT NULL,
    orders_clicked bigint DEFAULT '0'::bigint NOT NULL
);
CREATE TABLE public.outcomes (
    store_id character varying(32) NOT NULL,
    fact bigint NOT NULL,
    kind smallint NOT NULL,
    day character varying(10) NOT NULL,
    ts bigint NOT NULL,
    item bigint NOT NULL,
    basket bigint,
    units bigint NOT NULL,
    value double precision NOT NULL,
    currency character varying(8) NOT NULL,
    touch bigint,
    clicked boolean,
    touched_at bigint,
    widget text NOT NULL,
    source text NOT NULL,
    "position" bigint NOT NULL,
    search bigint,
    intent text DEFAULT ''::text NOT NULL,
    look text DEFAULT ''::text NOT NULL
);
CREATE TABLE public.pictures (
    store_id character varying(32) NOT NULL,
    number bigint NOT NULL,
    url text NOT NULL,
    state character varying(16) NOT NULL,
    reason text,
    attempts bigint DEFAULT '0'::bigint NOT NULL,
    due_at bigint,
    etag character varying(200),
    modified character varying(200),
    fetched_at bigint,
    embedder character varying(80),
    descriptor bytea,
    seq bigint DEFAULT '0'::bigint NOT NULL,
    digest bigint,
    other_embedder character varying(80),
    other_descriptor bytea
);
CREATE TABLE public.placements (
    store_id character varying(32) NOT NULL,
    name character varying(64) NOT NULL,
    content text NOT NULL,
    version bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.product_terms (
    store_id character varying(32) NOT NULL,
    item bigint NOT NULL,
    supplier character varying(100) NOT NULL,
    pack_size integer NOT NULL,
    minimum_quantity integer NOT NULL
);
CREATE TABLE public.purchase_lines (
    store_id character varying(32) NOT NULL,
    line_seq bigint NOT NULL,
    seq bigint NOT NULL,
    basket bigint,
    order_id text,
    receipt integer NOT NULL,
    item bigint NOT NULL,
    line integer NOT NULL,
    channel smallint NOT NULL,
    void boolean NOT NULL,
    ts bigint NOT NULL,
    quantity bigint,
    price double precision,
    total double precision,
    currency character varying(8),
    shopper text,
    person text,
    session text,
    imported boolean NOT NULL,
    updated_at bigint,
    unconfirmed boolean DEFAULT false NOT NULL,
    excess boolean DEFAULT false NOT NULL
);
CREATE TABLE public.purchase_order_lines (
    store_id character varying(32) NOT NULL,
    number bigint NOT NULL,
    item bigint NOT NULL,
    supplier character varying(100) NOT NULL,
    quantity integer NOT NULL,
    expected_day character varying(10) NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.question_counts (
    store_id character varying(32) NOT NULL,
    day character varying(10) NOT NULL,
    attribute text NOT NULL,
    offered bigint NOT NULL,
    answered bigint NOT NULL
);
CREATE TABLE public.refused_identities (
    store_id character varying(32) NOT NULL,
    day integer NOT NULL,
    reason character varying(16) NOT NULL,
    calls bigint NOT NULL
);
CREATE TABLE public.relevance_judgements (
    store_id character varying(32) NOT NULL,
    intent character varying(256) NOT NULL,
    item bigint NOT NULL,
    by_hand boolean NOT NULL,
    grade smallint NOT NULL,
    shoppers bigint NOT NULL,
    judged_at bigint NOT NULL
);
CREATE TABLE public.relevance_measures (
    store_id character varying(32) NOT NULL,
    measured_at bigint NOT NULL,
    ndcg double precision,
    no_results double precision,
    click_through double precision,
    queries bigint NOT NULL,
    judged_queries bigint NOT NULL,
    ndcg_before double precision,
    ndcg_same double precision,
    is_alarm boolean NOT NULL,
    changes text NOT NULL,
    versions text NOT NULL
);
CREATE TABLE public.relevance_queries (
    store_id character varying(32) NOT NULL,
    intent character varying(256) NOT NULL,
    text text NOT NULL,
    origin character varying(8) NOT NULL,
    searches bigint NOT NULL,
    weight double precision NOT NULL,
    added_at bigint NOT NULL,
    results text,
    ndcg double precision
);
CREATE TABLE public.rule_changes (
    store_id character varying(32) NOT NULL,
    change_id bigint NOT NULL,
    rule_id bigint NOT NULL,
    changed_at bigint NOT NULL,
    actor text NOT NULL,
    what character varying(16) NOT NULL,
    rule text NOT NULL
);
CREATE TABLE public.rules (
    store_id character varying(32) NOT NULL,
    rule_id bigint NOT NULL,
    name text NOT NULL,
    action character varying(16) NOT NULL,
    target text NOT NULL,
    places text NOT NULL,
    starts character varying(40),
    ends character varying(40),
    priority integer NOT NULL,
    enabled boolean NOT NULL,
    strength double precision,
    "position" integer,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.scheduled_feed_fetches (
    store_id character varying(32) NOT NULL,
    number bigint NOT NULL,
    fetched_at bigint NOT NULL,
    outcome character varying(16) NOT NULL,
    problem text NOT NULL,
    size bigint NOT NULL,
    import_id character varying(32)
);
CREATE TABLE public.scheduled_feeds (
    store_id character varying(32) NOT NULL,
    url text NOT NULL,
    header text NOT NULL,
    every_minutes integer NOT NULL,
    is_complete boolean NOT NULL,
    next_at bigint NOT NULL,
    choices text NOT NULL,
    etag text,
    modified text,
    digest character varying(64),
    import_id character varying(32),
    failures integer NOT NULL,
    hour integer
);
CREATE TABLE public.search_counts (
    store_id character varying(32) NOT NULL,
    day character varying(10) NOT NULL,
    intent character varying(256) NOT NULL,
    text text NOT NULL,
    searches bigint NOT NULL,
    empty bigint NOT NULL,
    unnamed bigint DEFAULT '0'::bigint NOT NULL,
    shoppers bytea DEFAULT '\x'::bytea NOT NULL
);
CREATE TABLE public.search_credit_days (
    store_id character varying(32) NOT NULL,
    day character varying(10) NOT NULL,
    intent text NOT NULL,
    currency character varying(8) NOT NULL,
    carts bigint NOT NULL,
    lines bigint NOT NULL,
    units bigint NOT NULL,
    revenue double precision NOT NULL
);
CREATE TABLE public.search_days (
    store_id character varying(32) NOT NULL,
    day character varying(10) NOT NULL,
    intent text NOT NULL,
    text text NOT NULL,
    clicks bigint NOT NULL,
    shoppers bigint NOT NULL,
    positions bigint NOT NULL,
    position_sum bigint NOT NULL,
    who bytea NOT NULL
);
CREATE TABLE public.search_rules (
    store_id character varying(32) NOT NULL,
    rule_id bigint NOT NULL,
    action character varying(16) NOT NULL,
    query text NOT NULL,
    items text NOT NULL,
    address text,
    starts character varying(40),
    ends character varying(40),
    created_at bigint NOT NULL
);
CREATE TABLE public.shopper_days (
    store_id character varying(32) NOT NULL,
    day character varying(10) NOT NULL,
    widget text NOT NULL,
    source text NOT NULL,
    shown bytea NOT NULL,
    clicked bytea NOT NULL
);
CREATE TABLE public.shopper_links (
    store_id character varying(32) NOT NULL,
    session text NOT NULL,
    customer text NOT NULL,
    since_seq bigint NOT NULL,
    confirmed boolean DEFAULT false NOT NULL
);
CREATE TABLE public.sightings (
    store_id character varying(32) NOT NULL,
    kind character varying(16) NOT NULL,
    value character varying(255) NOT NULL,
    first_at bigint NOT NULL,
    last_at bigint NOT NULL
);
CREATE TABLE public.stock_outs (
    store_id character varying(32) NOT NULL,
    item bigint NOT NULL,
    since bigint NOT NULL,
    until bigint
);
CREATE TABLE public.store_connections (
    store_id character varying(32) NOT NULL,
    platform character varying(32),
    platform_chosen boolean NOT NULL,
    plugin_version text,
    store_url text,
    first_connected_at bigint
);
CREATE TABLE public.store_heads (
    store_id character varying(32) NOT NULL,
    seq bigint DEFAULT '0'::bigint NOT NULL,
    catalog_seq bigint DEFAULT '0'::bigint NOT NULL,
    catalog_size bigint DEFAULT '0'::bigint NOT NULL,
    next_number bigint DEFAULT '0'::bigint NOT NULL,
    price_lists text DEFAULT '{}'::text NOT NULL,
    model_id character varying(64),
    search_seq bigint DEFAULT '0'::bigint NOT NULL,
    synced_at bigint,
    rules_seq bigint DEFAULT '0'::bigint NOT NULL,
    pictured_seq bigint DEFAULT '0'::bigint NOT NULL,
    picture_seq bigint DEFAULT '0'::bigint NOT NULL,
    visual_seq bigint DEFAULT '0'::bigint NOT NULL,
    visual_id character varying(64),
    visual_taught_seq bigint DEFAULT '0'::bigint NOT NULL,
    looks_seq bigint DEFAULT '0'::bigint NOT NULL,
    placements_seq bigint DEFAULT '0'::bigint NOT NULL,
    index_id character varying(64),
    erasures bigint DEFAULT '0'::bigint NOT NULL,
    bots bigint DEFAULT '0'::bigint NOT NULL,
    confirmed_order_at bigint
);
CREATE TABLE public.stores (
    store_id character varying(32) NOT NULL,
    domain character varying(255) NOT NULL,
    email character varying(320),
    password_hash character varying(255),
    plan character varying(32) NOT NULL,
    publishable_key character varying(64) NOT NULL,
    secret_hash character varying(64),
    origins text NOT NULL,
    settings text NOT NULL,
    created_at bigint NOT NULL,
    plan_ends_at bigint,
    suspended_at bigint,
    secret_end character varying(4),
    secret_made_at bigint,
    old_secret_hash character varying(64),
    old_secret_end character varying(4),
    old_secret_made_at bigint,
    old_secret_expires_at bigint
);
CREATE TABLE public.suppliers (
    store_id character varying(32) NOT NULL,
    name character varying(100) NOT NULL,
    lead_time_days integer,
    order_every_days integer,
    minimum_order double precision NOT NULL
);
CREATE TABLE public.synonyms (
    store_id character varying(32) NOT NULL,
    synonym_id bigint NOT NULL,
    texts text NOT NULL,
    one_way boolean NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.touch_days (
    store_id character varying(32) NOT NULL,
    day character varying(10) NOT NULL,
    widget text NOT NULL,
    source text NOT NULL,
    "position" bigint NOT NULL,
    shown bigint NOT NULL,
    clicked bigint NOT NULL
);
CREATE TABLE public.uploads (
    store_id character varying(32) NOT NULL,
    upload_id character varying(32) NOT NULL,
    number bigint NOT NULL,
    status character varying(16) NOT NULL,
    submitted_at bigint NOT NULL,
    format text NOT NULL,
    rows bigint NOT NULL,
    rows_done bigint NOT NULL,
    lines_imported bigint NOT NULL,
    lines_updated bigint DEFAULT '0'::bigint NOT NULL,
    rows_undated bigint DEFAULT '0'::bigint NOT NULL,
    undated text DEFAULT '[]'::text NOT NULL,
    rows_skipped bigint NOT NULL,
    errors text NOT NULL,
    attempts integer NOT NULL
);
CREATE TABLE public.webhook_endpoints (
    store_id character varying(32) NOT NULL,
    endpoint_id character varying(24) NOT NULL,
    url text NOT NULL,
    secret text NOT NULL,
    state character varying(8) NOT NULL,
    created_at bigint NOT NULL,
    last_number bigint NOT NULL,
    left_out text
);
CREATE TABLE public.webhook_messages (
    store_id character varying(32) NOT NULL,
    endpoint_id character varying(24) NOT NULL,
    number bigint NOT NULL,
    event character varying(40) NOT NULL,
    body text NOT NULL,
    created_at bigint NOT NULL,
    state character varying(12) NOT NULL,
    attempts integer NOT NULL,
    next_at bigint NOT NULL,
    tried_at bigint,
    reply text
);
CREATE TABLE public.webhook_positions (
    store_id character varying(32) NOT NULL,
    source character varying(40) NOT NULL,
    "position" text NOT NULL
);
CREATE TABLE public.widget_configs (
    store_id character varying(32) NOT NULL,
    type character varying(32) NOT NULL,
    settings text NOT NULL,
    custom_css text,
    scoped boolean,
    updated_at bigint NOT NULL
);
INSERT INTO public.access_tokens VALUES ('1', '1', '1', '1', '1', '1', '1', 1, 1, 1);
INSERT INTO public.alembic_version VALUES ('2026_11_29_1400');
INSERT INTO public.assistant_attributions VALUES ('1', '1', '1', 1, 1);
INSERT INTO public.assistant_calls VALUES ('1', '1', '1', 1, 1, 1);
INSERT INTO public.attribution_marks VALUES ('1', 1, '1', 1, '1', 1, '1');
INSERT INTO public.audit_log VALUES ('1', '1', 1, '1', '1', '1', '1');
INSERT INTO public.bot_events VALUES ('1', 1, 1, 1, 1, '1', '1', '1', '1', 1, '1', 1, '1', 1, '1', true, '1');
INSERT INTO public.bundles VALUES ('1', 1, '1', 1, 1, 1);
INSERT INTO public.calendar_entries VALUES ('1', 1, '1', '1', '1', '1', '1', 1, 1, 1);
INSERT INTO public.counters VALUES ('1', 1);
INSERT INTO public.credit_days VALUES ('1', '1', '1', '1', 1, '1', 1, 1, 1, 1, 1, 1, 1, 1);
INSERT INTO public.dashboard_challenges VALUES ('1', '1', '1', 1, true);
INSERT INTO public.dashboard_invitations VALUES ('1', '1', '1', '1', 1, 1, '1', true);
INSERT INTO public.dashboard_resets VALUES ('1', '1', '1', 1, true);
INSERT INTO public.dashboard_second_factors VALUES ('1', '1', '1', 1, 1, '1');
INSERT INTO public.dashboard_sessions VALUES ('1', '1', '1', 1, 1, '1', '1', true);
INSERT INTO public.dashboard_users VALUES ('1', '1', '1', '1', '1', 1, true, '1', 1, 1, true, true, true, 1);
INSERT INTO public.data_sizes VALUES ('1', '1', '1', 1, 1, 1, 1);
INSERT INTO public.duties VALUES ('1', '1', 1);
INSERT INTO public.erased_names VALUES ('1', '1', 1);
INSERT INTO public.erasures VALUES ('1', 1, 1, '1', 1, 1, 1, 1);
INSERT INTO public.event_hours VALUES ('1', 1, 1, 1);
INSERT INTO public.event_receipts VALUES ('1', '1', 1);
INSERT INTO public.event_watches VALUES ('1', 1);
INSERT INTO public.events VALUES ('1', 1, 1, 1, 1, '1', '1', '1', '1', 1, '1', 1, '1', 1, '1', true, true);
INSERT INTO public.experiment_days VALUES ('1', '1', '1', 1, '1');
INSERT INTO public.experiments VALUES ('1', '1', 1, '1', '1', '1', 1, 1, 1, 1, '1');
INSERT INTO public.exposures VALUES ('1', '1', '1', '1', '1', 1);
INSERT INTO public.feed_fetches VALUES ('1', '1', 1, 1, 1, 1, '1');
INSERT INTO public.file_imports VALUES ('1', '1', 1, '1', '1', 1, '1', 1, 1, '1', 1, 1, '1', '1', '1', '1');
INSERT INTO public.forecast_drafts VALUES ('1', '1', '1');
INSERT INTO public.forecast_runs VALUES ('1', 1, '1', '1', '1', '1', '1', '1', 1, 1, 1, '1');
INSERT INTO public.import_changes VALUES ('1', '1', 1, 1, '1');
INSERT INTO public.imports VALUES ('1', '1', '1', 1, 1, 1, 1, 1);
INSERT INTO public.insights VALUES ('1', '1', 1, 1, '1');
INSERT INTO public.item_credit_days VALUES ('1', '1', 1, '1', 1, 1, 1, 1, 1, 1, 1);
INSERT INTO public.item_forecasts VALUES ('1', 1, '1', '1', 1, 1, '1', '\x31', '1', 1);
INSERT INTO public.items VALUES ('1', 1, '1', true, 1, '1', '1', '1', '1', 1, '1', 1, 1, '1', '1', '1', '1', '1', '1', '1', '1', '1', '1', '1', 1, '1', 1, 1);
INSERT INTO public.job_totals VALUES ('1', '1', 1, 1, 1, 1, 1);
INSERT INTO public.jobs VALUES ('1', '1', '1', '1', '1', '1', 1, 1, '1', 1, 1, '1', 1, 1);
INSERT INTO public.key_uses VALUES ('1', '1', 1, '1');
INSERT INTO public.leases VALUES ('1', '1', '1', 1);
INSERT INTO public.live_events VALUES ('1', '1', 1, '1', '1', '1', '1', '1', '1', '1');
INSERT INTO public.login_attempts VALUES ('1', 1);
INSERT INTO public.look_days VALUES ('1', '1', '1', 1, 1, 1);
INSERT INTO public.look_pictures VALUES ('1', '1', '\x31', 1, 1, 1);
INSERT INTO public.look_versions VALUES ('1', 1, 1, '1', '1', '1', '1', '1', 1, '1');
INSERT INTO public.looks VALUES ('1', 1, '1', '1', '1', '1', '1', '1', 1, 1, 1, '1');
INSERT INTO public.mail_choices VALUES ('1', 1, 1, '1', '1');
INSERT INTO public.mail_days VALUES ('1', 1, '1', 1, 1, 1);
INSERT INTO public.metered_calls VALUES ('1', '1', 1);
INSERT INTO public.metering_rounds VALUES ('1', 1);
INSERT INTO public.models VALUES ('1', '1', 1, 1, '1', 1);
INSERT INTO public.named_calls VALUES ('1', '1', '1', '1', '1', 1);
INSERT INTO public.order_receipts VALUES ('1', '1', 1, 1);
INSERT INTO public.outcome_days VALUES ('1', '1', '1', 1, 1, 1, 1, 1, 1, 1, 1);
INSERT INTO public.outcomes VALUES ('1', 1, 1, '1', 1, 1, 1, 1, 1, '1', 1, true, 1, '1', '1', 1, 1, '1', '1');
INSERT INTO public.pictures VALUES ('1', 1, '1', '1', '1', 1, 1, '1', '1', 1, '1', '\x31', 1, 1, '1', '\x31');
INSERT INTO public.placements VALUES ('1', '1', '1', 1, 1, 1);
INSERT INTO public.product_terms VALUES ('1', 1, '1', 1, 1);
INSERT INTO public.purchase_lines VALUES ('1', 1, 1, 1, '1', 1, 1, 1, 1, true, 1, 1, 1, 1, '1', '1', '1', '1', true, 1, true, true);
INSERT INTO public.purchase_order_lines VALUES ('1', 1, 1, '1', 1, '1', 1);
INSERT INTO public.question_counts VALUES ('1', '1', '1', 1, 1);
INSERT INTO public.refused_identities VALUES ('1', 1, '1', 1);
INSERT INTO public.relevance_judgements VALUES ('1', '1', 1, true, 1, 1, 1);
INSERT INTO public.relevance_measures VALUES ('1', 1, 1, 1, 1, 1, 1, 1, 1, true, '1', '1');
INSERT INTO public.relevance_queries VALUES ('1', '1', '1', '1', 1, 1, 1, '1', 1);
INSERT INTO public.rule_changes VALUES ('1', 1, 1, 1, '1', '1', '1');
INSERT INTO public.rules VALUES ('1', 1, '1', '1', '1', '1', '1', '1', 1, true, 1, 1, 1, 1);
INSERT INTO public.scheduled_feed_fetches VALUES ('1', 1, 1, '1', '1', 1, '1');
INSERT INTO public.scheduled_feeds VALUES ('1', '1', '1', 1, true, 1, '1', '1', '1', '1', '1', 1, 1);
INSERT INTO public.search_counts VALUES ('1', '1', '1', '1', 1, 1, 1, '\x31');
INSERT INTO public.search_credit_days VALUES ('1', '1', '1', '1', 1, 1, 1, 1);
INSERT INTO public.search_days VALUES ('1', '1', '1', '1', 1, 1, 1, 1, '\x31');
INSERT INTO public.search_rules VALUES ('1', 1, '1', '1', '1', '1', '1', '1', 1);
INSERT INTO public.shopper_days VALUES ('1', '1', '1', '1', '\x31', '\x31');
INSERT INTO public.shopper_links VALUES ('1', '1', '1', 1, true);
INSERT INTO public.sightings VALUES ('1', '1', '1', 1, 1);
INSERT INTO public.stock_outs VALUES ('1', 1, 1, 1);
INSERT INTO public.store_connections VALUES ('1', '1', true, '1', '1', 1);
INSERT INTO public.store_heads VALUES ('1', 1, 1, 1, 1, '1', '1', 1, 1, 1, 1, 1, 1, '1', 1, 1, 1, '1', 1, 1, 1);
INSERT INTO public.stores VALUES ('1', '1', '1', '1', '1', '1', '1', '1', '1', 1, 1, 1, '1', 1, '1', '1', 1, 1);
INSERT INTO public.suppliers VALUES ('1', '1', 1, 1, 1);
INSERT INTO public.synonyms VALUES ('1', 1, '1', true, 1);
INSERT INTO public.touch_days VALUES ('1', '1', '1', '1', 1, 1, 1);
INSERT INTO public.uploads VALUES ('1', '1', 1, '1', 1, '1', 1, 1, 1, 1, 1, '1', 1, '1', 1);
INSERT INTO public.webhook_endpoints VALUES ('1', '1', '1', '1', '1', 1, 1, '1');
INSERT INTO public.webhook_messages VALUES ('1', '1', 1, '1', '1', 1, '1', 1, 1, 1, '1');
INSERT INTO public.webhook_positions VALUES ('1', '1', '1');
INSERT INTO public.widget_configs VALUES ('1', '1', '1', '1', true, 1);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.access_tokens
    ADD CONSTRAINT pk_access_tokens PRIMARY KEY (store_id, token_id);
ALTER TABLE ONLY public.assistant_attributions
    ADD CONSTRAINT pk_assistant_attributions PRIMARY KEY (store_id, parameter, value, day);
ALTER TABLE ONLY public.assistant_calls
    ADD CONSTRAINT pk_assistant_calls PRIMARY KEY (store_id, agent, operation, day);
ALTER TABLE ONLY public.attribution_marks
    ADD CONSTRAINT pk_attribution_marks PRIMARY KEY (store_id);
ALTER TABLE ONLY public.audit_log
    ADD CONSTRAINT pk_audit_log PRIMARY KEY (store_id, entry_id);
ALTER TABLE ONLY public.bot_events
    ADD CONSTRAINT pk_bot_events PRIMARY KEY (store_id, seq);
ALTER TABLE ONLY public.bundles
    ADD CONSTRAINT pk_bundles PRIMARY KEY (store_id, bundle_id);
ALTER TABLE ONLY public.calendar_entries
    ADD CONSTRAINT pk_calendar_entries PRIMARY KEY (store_id, number);
ALTER TABLE ONLY public.counters
    ADD CONSTRAINT pk_counters PRIMARY KEY (name);
ALTER TABLE ONLY public.credit_days
    ADD CONSTRAINT pk_credit_days PRIMARY KEY (store_id, day, widget, source, "position", currency);
ALTER TABLE ONLY public.dashboard_challenges
    ADD CONSTRAINT pk_dashboard_challenges PRIMARY KEY (store_id, token_hash);
ALTER TABLE ONLY public.dashboard_invitations
    ADD CONSTRAINT pk_dashboard_invitations PRIMARY KEY (store_id, token_hash);
ALTER TABLE ONLY public.dashboard_resets
    ADD CONSTRAINT pk_dashboard_resets PRIMARY KEY (store_id, token_hash);
ALTER TABLE ONLY public.dashboard_second_factors
    ADD CONSTRAINT pk_dashboard_second_factors PRIMARY KEY (store_id, user_id);
ALTER TABLE ONLY public.dashboard_sessions
    ADD CONSTRAINT pk_dashboard_sessions PRIMARY KEY (store_id, token_hash);
ALTER TABLE ONLY public.dashboard_users
    ADD CONSTRAINT pk_dashboard_users PRIMARY KEY (store_id, user_id);
ALTER TABLE ONLY public.data_sizes
    ADD CONSTRAINT pk_data_sizes PRIMARY KEY (store_id, day, part);
ALTER TABLE ONLY public.duties
    ADD CONSTRAINT pk_duties PRIMARY KEY (store_id, duty);
ALTER TABLE ONLY public.erased_names
    ADD CONSTRAINT pk_erased_names PRIMARY KEY (store_id, name);
ALTER TABLE ONLY public.erasures
    ADD CONSTRAINT pk_erasures PRIMARY KEY (store_id, erasure_id);
ALTER TABLE ONLY public.event_hours
    ADD CONSTRAINT pk_event_hours PRIMARY KEY (store_id, hour, kind);
ALTER TABLE ONLY public.event_receipts
    ADD CONSTRAINT pk_event_receipts PRIMARY KEY (store_id, event_id);
ALTER TABLE ONLY public.event_watches
    ADD CONSTRAINT pk_event_watches PRIMARY KEY (store_id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT pk_events PRIMARY KEY (store_id, seq);
ALTER TABLE ONLY public.experiment_days
    ADD CONSTRAINT pk_experiment_days PRIMARY KEY (store_id, test, day);
ALTER TABLE ONLY public.experiments
    ADD CONSTRAINT pk_experiments PRIMARY KEY (store_id, name);
ALTER TABLE ONLY public.exposures
    ADD CONSTRAINT pk_exposures PRIMARY KEY (store_id, identity, test, arm);
ALTER TABLE ONLY public.feed_fetches
    ADD CONSTRAINT pk_feed_fetches PRIMARY KEY (store_id, feed, day);
ALTER TABLE ONLY public.file_imports
    ADD CONSTRAINT pk_file_imports PRIMARY KEY (store_id, import_id);
ALTER TABLE ONLY public.forecast_drafts
    ADD CONSTRAINT pk_forecast_drafts PRIMARY KEY (store_id);
ALTER TABLE ONLY public.forecast_runs
    ADD CONSTRAINT pk_forecast_runs PRIMARY KEY (store_id);
ALTER TABLE ONLY public.import_changes
    ADD CONSTRAINT pk_import_changes PRIMARY KEY (store_id, import_id, first_seq);
ALTER TABLE ONLY public.imports
    ADD CONSTRAINT pk_imports PRIMARY KEY (store_id, kind, digest);
ALTER TABLE ONLY public.insights
    ADD CONSTRAINT pk_insights PRIMARY KEY (store_id, name);
ALTER TABLE ONLY public.item_credit_days
    ADD CONSTRAINT pk_item_credit_days PRIMARY KEY (store_id, day, item, currency);
ALTER TABLE ONLY public.item_forecasts
    ADD CONSTRAINT pk_item_forecasts PRIMARY KEY (store_id, item);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT pk_items PRIMARY KEY (store_id, number);
ALTER TABLE ONLY public.job_totals
    ADD CONSTRAINT pk_job_totals PRIMARY KEY (store_id, kind);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT pk_jobs PRIMARY KEY (store_id, job_id);
ALTER TABLE ONLY public.key_uses
    ADD CONSTRAINT pk_key_uses PRIMARY KEY (store_id, key_id);
ALTER TABLE ONLY public.leases
    ADD CONSTRAINT pk_leases PRIMARY KEY (store_id, task);
ALTER TABLE ONLY public.live_events
    ADD CONSTRAINT pk_live_events PRIMARY KEY (store_id, entry_id);
ALTER TABLE ONLY public.login_attempts
    ADD CONSTRAINT pk_login_attempts PRIMARY KEY (name_hash);
ALTER TABLE ONLY public.look_days
    ADD CONSTRAINT pk_look_days PRIMARY KEY (store_id, day, look, item);
ALTER TABLE ONLY public.look_pictures
    ADD CONSTRAINT pk_look_pictures PRIMARY KEY (store_id, picture_id);
ALTER TABLE ONLY public.look_versions
    ADD CONSTRAINT pk_look_versions PRIMARY KEY (store_id, look_id, version);
ALTER TABLE ONLY public.looks
    ADD CONSTRAINT pk_looks PRIMARY KEY (store_id, look_id);
ALTER TABLE ONLY public.mail_choices
    ADD CONSTRAINT pk_mail_choices PRIMARY KEY (store_id, day, recipient, mail);
ALTER TABLE ONLY public.mail_days
    ADD CONSTRAINT pk_mail_days PRIMARY KEY (store_id, day, slot);
ALTER TABLE ONLY public.metered_calls
    ADD CONSTRAINT pk_metered_calls PRIMARY KEY (store_id, month);
ALTER TABLE ONLY public.metering_rounds
    ADD CONSTRAINT pk_metering_rounds PRIMARY KEY (sheet);
ALTER TABLE ONLY public.models
    ADD CONSTRAINT pk_models PRIMARY KEY (store_id, model_id);
ALTER TABLE ONLY public.named_calls
    ADD CONSTRAINT pk_named_calls PRIMARY KEY (store_id, what, name);
ALTER TABLE ONLY public.order_receipts
    ADD CONSTRAINT pk_order_receipts PRIMARY KEY (store_id, order_id);
ALTER TABLE ONLY public.outcome_days
    ADD CONSTRAINT pk_outcome_days PRIMARY KEY (store_id, day, currency);
ALTER TABLE ONLY public.outcomes
    ADD CONSTRAINT pk_outcomes PRIMARY KEY (store_id, fact);
ALTER TABLE ONLY public.pictures
    ADD CONSTRAINT pk_pictures PRIMARY KEY (store_id, number);
ALTER TABLE ONLY public.placements
    ADD CONSTRAINT pk_placements PRIMARY KEY (store_id, name);
ALTER TABLE ONLY public.product_terms
    ADD CONSTRAINT pk_product_terms PRIMARY KEY (store_id, item);
ALTER TABLE ONLY public.purchase_lines
    ADD CONSTRAINT pk_purchase_lines PRIMARY KEY (store_id, line_seq);
ALTER TABLE ONLY public.purchase_order_lines
    ADD CONSTRAINT pk_purchase_order_lines PRIMARY KEY (store_id, number);
ALTER TABLE ONLY public.question_counts
    ADD CONSTRAINT pk_question_counts PRIMARY KEY (store_id, day, attribute);
ALTER TABLE ONLY public.refused_identities
    ADD CONSTRAINT pk_refused_identities PRIMARY KEY (store_id, day, reason);
ALTER TABLE ONLY public.relevance_judgements
    ADD CONSTRAINT pk_relevance_judgements PRIMARY KEY (store_id, intent, item, by_hand);
ALTER TABLE ONLY public.relevance_measures
    ADD CONSTRAINT pk_relevance_measures PRIMARY KEY (store_id, measured_at);
ALTER TABLE ONLY public.relevance_queries
    ADD CONSTRAINT pk_relevance_queries PRIMARY KEY (store_id, intent);
ALTER TABLE ONLY public.rule_changes
    ADD CONSTRAINT pk_rule_changes PRIMARY KEY (store_id, change_id);
ALTER TABLE ONLY public.rules
    ADD CONSTRAINT pk_rules PRIMARY KEY (store_id, rule_id);
ALTER TABLE ONLY public.scheduled_feed_fetches
    ADD CONSTRAINT pk_scheduled_feed_fetches PRIMARY KEY (store_id, number);
ALTER TABLE ONLY public.scheduled_feeds
    ADD CONSTRAINT pk_scheduled_feeds PRIMARY KEY (store_id);
ALTER TABLE ONLY public.search_counts
    ADD CONSTRAINT pk_search_counts PRIMARY KEY (store_id, day, intent);
ALTER TABLE ONLY public.search_credit_days
    ADD CONSTRAINT pk_search_credit_days PRIMARY KEY (store_id, day, intent, currency);
ALTER TABLE ONLY public.search_days
    ADD CONSTRAINT pk_search_days PRIMARY KEY (store_id, day, intent);
ALTER TABLE ONLY public.search_rules
    ADD CONSTRAINT pk_search_rules PRIMARY KEY (store_id, rule_id);
ALTER TABLE ONLY public.shopper_days
    ADD CONSTRAINT pk_shopper_days PRIMARY KEY (store_id, day, widget, source);
ALTER TABLE ONLY public.shopper_links
    ADD CONSTRAINT pk_shopper_links PRIMARY KEY (store_id, session);
ALTER TABLE ONLY public.sightings
    ADD CONSTRAINT pk_sightings PRIMARY KEY (store_id, kind, value);
ALTER TABLE ONLY public.stock_outs
    ADD CONSTRAINT pk_stock_outs PRIMARY KEY (store_id, item, since);
ALTER TABLE ONLY public.store_connections
    ADD CONSTRAINT pk_store_connections PRIMARY KEY (store_id);
ALTER TABLE ONLY public.store_heads
    ADD CONSTRAINT pk_store_heads PRIMARY KEY (store_id);
ALTER TABLE ONLY public.stores
    ADD CONSTRAINT pk_stores PRIMARY KEY (store_id);
ALTER TABLE ONLY public.suppliers
    ADD CONSTRAINT pk_suppliers PRIMARY KEY (store_id, name);
ALTER TABLE ONLY public.synonyms
    ADD CONSTRAINT pk_synonyms PRIMARY KEY (store_id, synonym_id);
ALTER TABLE ONLY public.touch_days
    ADD CONSTRAINT pk_touch_days PRIMARY KEY (store_id, day, widget, source, "position");
ALTER TABLE ONLY public.uploads
    ADD CONSTRAINT pk_uploads PRIMARY KEY (store_id, upload_id);
ALTER TABLE ONLY public.webhook_endpoints
    ADD CONSTRAINT pk_webhook_endpoints PRIMARY KEY (store_id, endpoint_id);
ALTER TABLE ONLY public.webhook_messages
    ADD CONSTRAINT pk_webhook_messages PRIMARY KEY (store_id, endpoint_id, number);
ALTER TABLE ONLY public.webhook_positions
    ADD CONSTRAINT pk_webhook_positions PRIMARY KEY (store_id, source);
ALTER TABLE ONLY public.widget_configs
    ADD CONSTRAINT pk_widget_configs PRIMARY KEY (store_id, type);
ALTER TABLE ONLY public.dashboard_users
    ADD CONSTRAINT uq_dashboard_users_store_id_email UNIQUE (store_id, email);
ALTER TABLE ONLY public.file_imports
    ADD CONSTRAINT uq_file_imports_store_id_number UNIQUE (store_id, number);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT uq_items_store_id_item_id UNIQUE (store_id, item_id);
ALTER TABLE ONLY public.purchase_lines
    ADD CONSTRAINT uq_purchase_lines_store_id_order_id_receipt_item_line UNIQUE (store_id, order_id, receipt, item, line);
ALTER TABLE ONLY public.stores
    ADD CONSTRAINT uq_stores_domain UNIQUE (domain);
ALTER TABLE ONLY public.stores
    ADD CONSTRAINT uq_stores_publishable_key UNIQUE (publishable_key);
ALTER TABLE ONLY public.stores
    ADD CONSTRAINT uq_stores_secret_hash UNIQUE (secret_hash);
ALTER TABLE ONLY public.uploads
    ADD CONSTRAINT uq_uploads_store_id_number UNIQUE (store_id, number);
CREATE INDEX ix_bot_events_store_id_person ON public.bot_events USING btree (store_id, person);
CREATE INDEX ix_bot_events_store_id_ts_bot ON public.bot_events USING btree (store_id, ts, bot);
CREATE INDEX ix_dashboard_users_email ON public.dashboard_users USING btree (email);
CREATE INDEX ix_dashboard_users_login_id ON public.dashboard_users USING btree (login_id);
CREATE INDEX ix_event_receipts_store_id_received_at ON public.event_receipts USING btree (store_id, received_at);
CREATE INDEX ix_events_store_id_person_seq_kind_item_ts_session ON public.events USING btree (store_id, person, seq, kind, item, ts, session);
CREATE INDEX ix_exposures_store_id_test_first_at ON public.exposures USING btree (store_id, test, first_at);
CREATE INDEX ix_file_imports_status ON public.file_imports USING btree (status);
CREATE INDEX ix_items_store_id_change_seq ON public.items USING btree (store_id, change_seq);
CREATE INDEX ix_jobs_state_run_at ON public.jobs USING btree (state, run_at);
CREATE INDEX ix_login_attempts_full_at ON public.login_attempts USING btree (full_at);
CREATE INDEX ix_looks_store_id_state ON public.looks USING btree (store_id, state);
CREATE INDEX ix_outcomes_store_id_day ON public.outcomes USING btree (store_id, day);
CREATE INDEX ix_pictures_due_at ON public.pictures USING btree (due_at);
CREATE INDEX ix_pictures_store_id_state ON public.pictures USING btree (store_id, state);
CREATE INDEX ix_purchase_lines_store_id_person_seq_void_item_ts_session ON public.purchase_lines USING btree (store_id, person, seq, void, item, ts, session);
CREATE INDEX ix_purchase_lines_store_id_seq ON public.purchase_lines USING btree (store_id, seq);
CREATE INDEX ix_purchase_lines_unconfirmed ON public.purchase_lines USING btree (store_id, void, seq) WHERE unconfirmed;
CREATE INDEX ix_scheduled_feeds_next_at ON public.scheduled_feeds USING btree (next_at);
CREATE INDEX ix_shopper_links_store_id_customer ON public.shopper_links USING btree (store_id, customer);
CREATE INDEX ix_shopper_links_store_id_since_seq ON public.shopper_links USING btree (store_id, since_seq);
CREATE INDEX ix_uploads_status ON public.uploads USING btree (status);
CREATE INDEX ix_webhook_messages_pending ON public.webhook_messages USING btree (next_at) WHERE ((state)::text = 'pending'::text);
CREATE UNIQUE INDEX uq_jobs_one_queued ON public.jobs USING btree (store_id, key) WHERE ((state)::text = 'queued'::text);
CREATE UNIQUE INDEX uq_jobs_one_running ON public.jobs USING btree (store_id, key) WHERE ((state)::text = 'running'::text);
ALTER TABLE ONLY public.metered_calls
    ADD CONSTRAINT fk_metered_calls_store_id FOREIGN KEY (store_id) REFERENCES public.stores(store_id) ON DELETE CASCADE;
