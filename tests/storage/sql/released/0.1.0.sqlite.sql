BEGIN TRANSACTION;
CREATE TABLE access_tokens (
	store_id VARCHAR(32) NOT NULL, 
	token_id VARCHAR(16) NOT NULL, 
	name TEXT NOT NULL, 
	role VARCHAR(16) NOT NULL, 
	token_hash VARCHAR(64) NOT NULL, 
	confirmation_key VARCHAR(64) NOT NULL, 
	creator TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	used_at BIGINT, calls BIGINT DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_access_tokens PRIMARY KEY (store_id, token_id)
)
 WITHOUT ROWID

;
INSERT INTO "access_tokens" VALUES('1','1','1','1','1','1','1',1,1,1);
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('2026_11_29_1400');
CREATE TABLE assistant_attributions (
	store_id VARCHAR(32) NOT NULL, 
	parameter VARCHAR(16) NOT NULL, 
	value VARCHAR(40) NOT NULL, 
	day INTEGER NOT NULL, 
	searches BIGINT NOT NULL, 
	CONSTRAINT pk_assistant_attributions PRIMARY KEY (store_id, parameter, value, day)
)
 WITHOUT ROWID

;
INSERT INTO "assistant_attributions" VALUES('1','1','1',1,1);
CREATE TABLE assistant_calls (
	store_id VARCHAR(32) NOT NULL, 
	agent VARCHAR(100) NOT NULL, 
	operation VARCHAR(24) NOT NULL, 
	day INTEGER NOT NULL, 
	calls BIGINT NOT NULL, 
	last_at BIGINT NOT NULL, 
	CONSTRAINT pk_assistant_calls PRIMARY KEY (store_id, agent, operation, day)
)
 WITHOUT ROWID

;
INSERT INTO "assistant_calls" VALUES('1','1','1',1,1,1);
CREATE TABLE attribution_marks (
	store_id VARCHAR(32) NOT NULL, 
	seq BIGINT NOT NULL, 
	zone VARCHAR(64) NOT NULL, 
	version INTEGER NOT NULL, 
	language VARCHAR(16) DEFAULT '' NOT NULL, settled_before BIGINT DEFAULT '0' NOT NULL, settled_day VARCHAR(10) DEFAULT '' NOT NULL, 
	CONSTRAINT pk_attribution_marks PRIMARY KEY (store_id)
);
INSERT INTO "attribution_marks" VALUES('1',1,'1',1,'1',1,'1');
CREATE TABLE audit_log (
	store_id VARCHAR(32) NOT NULL, 
	entry_id VARCHAR(32) NOT NULL, 
	at BIGINT NOT NULL, 
	actor TEXT NOT NULL, 
	action TEXT NOT NULL, 
	detail TEXT NOT NULL, undo TEXT, 
	CONSTRAINT pk_audit_log PRIMARY KEY (store_id, entry_id)
);
INSERT INTO "audit_log" VALUES('1','1',1,'1','1','1','1');
CREATE TABLE bot_events (
	store_id VARCHAR(32) NOT NULL, 
	seq BIGINT NOT NULL, 
	ts BIGINT NOT NULL, 
	kind SMALLINT NOT NULL, 
	item BIGINT, 
	shopper TEXT NOT NULL, 
	person TEXT NOT NULL, 
	session TEXT, 
	term TEXT, 
	value DOUBLE, 
	currency VARCHAR(8), 
	quantity BIGINT, 
	source TEXT, 
	position BIGINT, 
	widget TEXT, 
	imported BOOLEAN NOT NULL, 
	bot VARCHAR(64) NOT NULL, 
	CONSTRAINT pk_bot_events PRIMARY KEY (store_id, seq)
)
 WITHOUT ROWID

;
INSERT INTO "bot_events" VALUES('1',1,1,1,1,'1','1','1','1',1.0,'1',1,'1',1,'1',1,'1');
CREATE TABLE bundles (
	store_id VARCHAR(32) NOT NULL, 
	bundle_id BIGINT NOT NULL, 
	content TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	CONSTRAINT pk_bundles PRIMARY KEY (store_id, bundle_id)
);
INSERT INTO "bundles" VALUES('1',1,'1',1,1,1);
CREATE TABLE calendar_entries (
	store_id VARCHAR(32) NOT NULL, 
	number BIGINT NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	name TEXT NOT NULL, 
	first_day VARCHAR(10) NOT NULL, 
	last_day VARCHAR(10) NOT NULL, 
	category TEXT NOT NULL, 
	expected_change DOUBLE, 
	created_at BIGINT NOT NULL, price_change DOUBLE, 
	CONSTRAINT pk_calendar_entries PRIMARY KEY (store_id, number)
);
INSERT INTO "calendar_entries" VALUES('1',1,'1','1','1','1','1',1.0,1,1.0);
CREATE TABLE counters (
	name VARCHAR(32) NOT NULL, 
	value BIGINT NOT NULL, 
	CONSTRAINT pk_counters PRIMARY KEY (name)
);
INSERT INTO "counters" VALUES('1',1);
CREATE TABLE credit_days (
	store_id VARCHAR(32) NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	widget TEXT NOT NULL, 
	source TEXT NOT NULL, 
	position BIGINT NOT NULL, 
	currency VARCHAR(8) NOT NULL, 
	carts BIGINT NOT NULL, 
	carts_clicked BIGINT NOT NULL, 
	cart_value DOUBLE NOT NULL, 
	lines BIGINT NOT NULL, 
	lines_clicked BIGINT NOT NULL, 
	units BIGINT NOT NULL, 
	revenue DOUBLE NOT NULL, 
	revenue_clicked DOUBLE NOT NULL, 
	CONSTRAINT pk_credit_days PRIMARY KEY (store_id, day, widget, source, position, currency)
)
 WITHOUT ROWID

;
INSERT INTO "credit_days" VALUES('1','1','1','1',1,'1',1,1,1.0,1,1,1,1.0,1.0);
CREATE TABLE dashboard_challenges (
	store_id VARCHAR(32) NOT NULL, 
	token_hash VARCHAR(64) NOT NULL, 
	user_id VARCHAR(32) NOT NULL, 
	expires_at BIGINT NOT NULL, 
	from_shop BOOLEAN, 
	CONSTRAINT pk_dashboard_challenges PRIMARY KEY (store_id, token_hash)
);
INSERT INTO "dashboard_challenges" VALUES('1','1','1',1,1);
CREATE TABLE dashboard_invitations (
	store_id VARCHAR(32) NOT NULL, 
	token_hash VARCHAR(64) NOT NULL, 
	email VARCHAR(320), 
	role VARCHAR(16) NOT NULL, 
	created_at BIGINT NOT NULL, 
	expires_at BIGINT NOT NULL, maker VARCHAR(32), mailed BOOLEAN, 
	CONSTRAINT pk_dashboard_invitations PRIMARY KEY (store_id, token_hash)
);
INSERT INTO "dashboard_invitations" VALUES('1','1','1','1',1,1,'1',1);
CREATE TABLE dashboard_resets (
	store_id VARCHAR(32) NOT NULL, 
	token_hash VARCHAR(64) NOT NULL, 
	user_id VARCHAR(32) NOT NULL, 
	expires_at BIGINT NOT NULL, mailed BOOLEAN, 
	CONSTRAINT pk_dashboard_resets PRIMARY KEY (store_id, token_hash)
);
INSERT INTO "dashboard_resets" VALUES('1','1','1',1,1);
CREATE TABLE "dashboard_second_factors" (
	store_id VARCHAR(32) NOT NULL, 
	user_id VARCHAR(32) NOT NULL, 
	secret VARCHAR(255) NOT NULL, 
	enabled_at BIGINT, 
	last_step BIGINT NOT NULL, 
	recovery TEXT NOT NULL, 
	CONSTRAINT pk_dashboard_second_factors PRIMARY KEY (store_id, user_id)
);
INSERT INTO "dashboard_second_factors" VALUES('1','1','1',1,1,'1');
CREATE TABLE dashboard_sessions (
	store_id VARCHAR(32) NOT NULL, 
	token_hash VARCHAR(64) NOT NULL, 
	user_id VARCHAR(32) NOT NULL, 
	created_at BIGINT NOT NULL, 
	seen_at BIGINT NOT NULL, 
	agent VARCHAR(200), 
	address VARCHAR(64), 
	from_shop BOOLEAN, 
	CONSTRAINT pk_dashboard_sessions PRIMARY KEY (store_id, token_hash)
);
INSERT INTO "dashboard_sessions" VALUES('1','1','1',1,1,'1','1',1);
CREATE TABLE dashboard_users (
	store_id VARCHAR(32) NOT NULL, 
	user_id VARCHAR(32) NOT NULL, 
	email VARCHAR(320), 
	role VARCHAR(16) NOT NULL, 
	password_hash VARCHAR(255), 
	created_at BIGINT NOT NULL, 
	stock_mails BOOLEAN, login_id VARCHAR(32), confirmed_at BIGINT, entered_at BIGINT, search_mails BOOLEAN, feed_mails BOOLEAN, weekly_mails BOOLEAN, weekly_mailed_at BIGINT, 
	CONSTRAINT pk_dashboard_users PRIMARY KEY (store_id, user_id), 
	CONSTRAINT uq_dashboard_users_store_id_email UNIQUE (store_id, email)
);
INSERT INTO "dashboard_users" VALUES('1','1','1','1','1',1,1,'1',1,1,1,1,1,1);
CREATE TABLE data_sizes (
	store_id VARCHAR(32) NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	part VARCHAR(16) NOT NULL, 
	rows BIGINT NOT NULL, 
	month_rows BIGINT NOT NULL, 
	old_rows BIGINT NOT NULL, 
	bytes BIGINT NOT NULL, 
	CONSTRAINT pk_data_sizes PRIMARY KEY (store_id, day, part)
);
INSERT INTO "data_sizes" VALUES('1','1','1',1,1,1,1);
CREATE TABLE duties (
	store_id VARCHAR(32) NOT NULL, 
	duty VARCHAR(32) NOT NULL, 
	due_at BIGINT NOT NULL, 
	CONSTRAINT pk_duties PRIMARY KEY (store_id, duty)
);
INSERT INTO "duties" VALUES('1','1',1);
CREATE TABLE erased_names (
	store_id VARCHAR(32) NOT NULL, 
	name VARCHAR(32) NOT NULL, 
	erased_at BIGINT NOT NULL, 
	CONSTRAINT pk_erased_names PRIMARY KEY (store_id, name)
)
 WITHOUT ROWID

;
INSERT INTO "erased_names" VALUES('1','1',1);
CREATE TABLE erasures (
	store_id VARCHAR(32) NOT NULL, 
	erasure_id BIGINT NOT NULL, 
	asked_at BIGINT NOT NULL, 
	names TEXT, 
	events BIGINT NOT NULL, 
	lines BIGINT NOT NULL, 
	cleared_seq BIGINT, 
	done_at BIGINT, 
	CONSTRAINT pk_erasures PRIMARY KEY (store_id, erasure_id)
);
INSERT INTO "erasures" VALUES('1',1,1,'1',1,1,1,1);
CREATE TABLE event_hours (
	store_id VARCHAR(32) NOT NULL, 
	hour BIGINT NOT NULL, 
	kind SMALLINT NOT NULL, 
	count BIGINT NOT NULL, 
	CONSTRAINT pk_event_hours PRIMARY KEY (store_id, hour, kind)
)
 WITHOUT ROWID

;
INSERT INTO "event_hours" VALUES('1',1,1,1);
CREATE TABLE event_receipts (
	store_id VARCHAR(32) NOT NULL, 
	event_id VARCHAR(64) NOT NULL, 
	received_at BIGINT NOT NULL, 
	CONSTRAINT pk_event_receipts PRIMARY KEY (store_id, event_id)
)
 WITHOUT ROWID

;
INSERT INTO "event_receipts" VALUES('1','1',1);
CREATE TABLE event_watches (
	store_id VARCHAR(32) NOT NULL, 
	until BIGINT NOT NULL, 
	CONSTRAINT pk_event_watches PRIMARY KEY (store_id)
);
INSERT INTO "event_watches" VALUES('1',1);
CREATE TABLE events (
	store_id VARCHAR(32) NOT NULL, 
	seq BIGINT NOT NULL, 
	ts BIGINT NOT NULL, 
	kind SMALLINT NOT NULL, 
	item BIGINT, 
	shopper TEXT NOT NULL, 
	person TEXT NOT NULL, 
	session TEXT, 
	term TEXT, 
	value DOUBLE, 
	currency VARCHAR(8), 
	quantity BIGINT, 
	source TEXT, 
	position BIGINT, 
	widget TEXT, 
	imported BOOLEAN NOT NULL, excess BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_events PRIMARY KEY (store_id, seq)
)
 WITHOUT ROWID

;
INSERT INTO "events" VALUES('1',1,1,1,1,'1','1','1','1',1.0,'1',1,'1',1,'1',1,1);
CREATE TABLE experiment_days (
	store_id VARCHAR(32) NOT NULL, 
	test VARCHAR(64) NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	computed_at BIGINT NOT NULL, 
	result TEXT NOT NULL, 
	CONSTRAINT pk_experiment_days PRIMARY KEY (store_id, test, day)
);
INSERT INTO "experiment_days" VALUES('1','1','1',1,'1');
CREATE TABLE experiments (
	store_id VARCHAR(32) NOT NULL, 
	name VARCHAR(64) NOT NULL, 
	number BIGINT NOT NULL, 
	subject TEXT NOT NULL, 
	content TEXT NOT NULL, 
	state VARCHAR(8) NOT NULL, 
	created_at BIGINT NOT NULL, 
	started_at BIGINT, 
	started_seq BIGINT NOT NULL, 
	ended_at BIGINT, 
	winner VARCHAR(8) NOT NULL, 
	CONSTRAINT pk_experiments PRIMARY KEY (store_id, name)
);
INSERT INTO "experiments" VALUES('1','1',1,'1','1','1',1,1,1,1,'1');
CREATE TABLE exposures (
	store_id VARCHAR(32) NOT NULL, 
	identity TEXT NOT NULL, 
	test VARCHAR(64) NOT NULL, 
	arm VARCHAR(8) NOT NULL, 
	unit TEXT NOT NULL, 
	first_at BIGINT NOT NULL, 
	CONSTRAINT pk_exposures PRIMARY KEY (store_id, identity, test, arm)
)
 WITHOUT ROWID

;
INSERT INTO "exposures" VALUES('1','1','1','1','1',1);
CREATE TABLE feed_fetches (
	store_id VARCHAR(32) NOT NULL, 
	feed VARCHAR(16) NOT NULL, 
	day INTEGER NOT NULL, 
	fetches BIGINT NOT NULL, 
	last_at BIGINT NOT NULL, 
	products BIGINT NOT NULL, 
	left_out TEXT NOT NULL, 
	CONSTRAINT pk_feed_fetches PRIMARY KEY (store_id, feed, day)
)
 WITHOUT ROWID

;
INSERT INTO "feed_fetches" VALUES('1','1',1,1,1,1,'1');
CREATE TABLE file_imports (
	store_id VARCHAR(32) NOT NULL, 
	import_id VARCHAR(32) NOT NULL, 
	number BIGINT NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	file_name VARCHAR(255) NOT NULL, 
	size BIGINT NOT NULL, 
	sent_by VARCHAR(320) NOT NULL, 
	submitted_at BIGINT NOT NULL, 
	ended_at BIGINT, 
	choices TEXT NOT NULL, 
	progress DOUBLE NOT NULL, 
	attempts INTEGER NOT NULL, 
	preview TEXT NOT NULL, 
	result TEXT NOT NULL, 
	rejects TEXT NOT NULL, 
	mark TEXT, 
	CONSTRAINT pk_file_imports PRIMARY KEY (store_id, import_id), 
	CONSTRAINT uq_file_imports_store_id_number UNIQUE (store_id, number)
);
INSERT INTO "file_imports" VALUES('1','1',1,'1','1',1,'1',1,1,'1',1.0,1,'1','1','1','1');
CREATE TABLE forecast_drafts (
	store_id VARCHAR(32) NOT NULL, 
	fingerprint VARCHAR(64) NOT NULL, 
	verdict TEXT NOT NULL, 
	CONSTRAINT pk_forecast_drafts PRIMARY KEY (store_id)
);
INSERT INTO "forecast_drafts" VALUES('1','1','1');
CREATE TABLE forecast_runs (
	store_id VARCHAR(32) NOT NULL, 
	generated_at BIGINT NOT NULL, 
	first_day VARCHAR(10) NOT NULL, 
	target_mode VARCHAR(16) NOT NULL, 
	history TEXT NOT NULL, 
	total TEXT NOT NULL, 
	accuracy TEXT, 
	judged TEXT, 
	items BIGINT NOT NULL, 
	learned BIGINT NOT NULL, 
	seconds DOUBLE NOT NULL, 
	alerted TEXT, 
	CONSTRAINT pk_forecast_runs PRIMARY KEY (store_id)
);
INSERT INTO "forecast_runs" VALUES('1',1,'1','1','1','1','1','1',1,1,1.0,'1');
CREATE TABLE import_changes (
	store_id VARCHAR(32) NOT NULL, 
	import_id VARCHAR(32) NOT NULL, 
	first_seq BIGINT NOT NULL, 
	last_seq BIGINT NOT NULL, 
	"before" TEXT NOT NULL, 
	CONSTRAINT pk_import_changes PRIMARY KEY (store_id, import_id, first_seq)
);
INSERT INTO "import_changes" VALUES('1','1',1,1,'1');
CREATE TABLE imports (
	store_id VARCHAR(32) NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	lines_done BIGINT NOT NULL, 
	lines_added BIGINT DEFAULT '0' NOT NULL, 
	lines_changed BIGINT DEFAULT '0' NOT NULL, 
	submitted_at BIGINT NOT NULL, lines_repeated BIGINT DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_imports PRIMARY KEY (store_id, kind, digest)
)
 WITHOUT ROWID

;
INSERT INTO "imports" VALUES('1','1','1',1,1,1,1,1);
CREATE TABLE insights (
	store_id VARCHAR(32) NOT NULL, 
	name VARCHAR(32) NOT NULL, 
	computed_at BIGINT NOT NULL, 
	applied_seq BIGINT NOT NULL, 
	result TEXT NOT NULL, 
	CONSTRAINT pk_insights PRIMARY KEY (store_id, name)
);
INSERT INTO "insights" VALUES('1','1',1,1,'1');
CREATE TABLE item_credit_days (
	store_id VARCHAR(32) NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	item BIGINT NOT NULL, 
	currency VARCHAR(8) NOT NULL, 
	carts BIGINT NOT NULL, 
	carts_clicked BIGINT NOT NULL, 
	lines BIGINT NOT NULL, 
	lines_clicked BIGINT NOT NULL, 
	units BIGINT NOT NULL, 
	revenue DOUBLE NOT NULL, 
	revenue_clicked DOUBLE NOT NULL, 
	CONSTRAINT pk_item_credit_days PRIMARY KEY (store_id, day, item, currency)
)
 WITHOUT ROWID

;
INSERT INTO "item_credit_days" VALUES('1','1',1,'1',1,1,1,1,1,1.0,1.0);
CREATE TABLE item_forecasts (
	store_id VARCHAR(32) NOT NULL, 
	item BIGINT NOT NULL, 
	method VARCHAR(16) NOT NULL, 
	days TEXT NOT NULL, 
	expected DOUBLE NOT NULL, 
	spread DOUBLE NOT NULL, 
	sold TEXT, 
	ahead BLOB, 
	daily TEXT, 
	paid DOUBLE, 
	CONSTRAINT pk_item_forecasts PRIMARY KEY (store_id, item)
)
 WITHOUT ROWID

;
INSERT INTO "item_forecasts" VALUES('1',1,'1','1',1.0,1.0,'1',X'31','1',1.0);
CREATE TABLE items (
	store_id VARCHAR(32) NOT NULL, 
	number BIGINT NOT NULL, 
	item_id TEXT NOT NULL, 
	present BOOLEAN NOT NULL, 
	change_seq BIGINT NOT NULL, 
	sku TEXT, 
	title TEXT DEFAULT '' NOT NULL, 
	product_url TEXT, 
	image_url TEXT, 
	price DOUBLE, 
	availability VARCHAR(16), 
	stock_qty BIGINT, 
	cost DOUBLE, 
	categories TEXT DEFAULT '[]' NOT NULL, 
	category_ids TEXT DEFAULT '[]' NOT NULL, 
	description TEXT, 
	available_from VARCHAR(40), 
	available_until VARCHAR(40), 
	brand TEXT, 
	gtin TEXT, 
	color TEXT DEFAULT '[]' NOT NULL, 
	size TEXT DEFAULT '[]' NOT NULL, 
	material TEXT DEFAULT '[]' NOT NULL, 
	attributes TEXT DEFAULT '[]' NOT NULL, 
	list_price DOUBLE, 
	prices TEXT DEFAULT '[]' NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	CONSTRAINT pk_items PRIMARY KEY (store_id, number), 
	CONSTRAINT uq_items_store_id_item_id UNIQUE (store_id, item_id)
);
INSERT INTO "items" VALUES('1',1,'1',1,1,'1','1','1','1',1.0,'1',1,1.0,'1','1','1','1','1','1','1','1','1','1','1',1.0,'1',1,1);
CREATE TABLE job_totals (
	store_id VARCHAR(32) NOT NULL, 
	kind VARCHAR(32) NOT NULL, 
	done BIGINT NOT NULL, 
	retried BIGINT NOT NULL, 
	dead BIGINT NOT NULL, 
	milliseconds BIGINT NOT NULL, 
	done_at BIGINT, 
	CONSTRAINT pk_job_totals PRIMARY KEY (store_id, kind)
);
INSERT INTO "job_totals" VALUES('1','1',1,1,1,1,1);
CREATE TABLE jobs (
	store_id VARCHAR(32) NOT NULL, 
	job_id VARCHAR(32) NOT NULL, 
	kind VARCHAR(32) NOT NULL, 
	"key" VARCHAR(128) NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	payload TEXT NOT NULL, 
	attempts INTEGER NOT NULL, 
	run_at BIGINT NOT NULL, 
	token VARCHAR(32), 
	leased_until BIGINT, 
	progress DOUBLE, 
	error TEXT, 
	created_at BIGINT NOT NULL, 
	finished_at BIGINT, 
	CONSTRAINT pk_jobs PRIMARY KEY (store_id, job_id)
);
INSERT INTO "jobs" VALUES('1','1','1','1','1','1',1,1,'1',1,1.0,'1',1,1);
CREATE TABLE key_uses (
	store_id VARCHAR(32) NOT NULL, 
	key_id VARCHAR(16) NOT NULL, 
	used_at BIGINT NOT NULL, 
	address VARCHAR(64), 
	CONSTRAINT pk_key_uses PRIMARY KEY (store_id, key_id)
);
INSERT INTO "key_uses" VALUES('1','1',1,'1');
CREATE TABLE leases (
	store_id VARCHAR(32) NOT NULL, 
	task VARCHAR(32) NOT NULL, 
	holder VARCHAR(64) NOT NULL, 
	expires_at BIGINT NOT NULL, 
	CONSTRAINT pk_leases PRIMARY KEY (store_id, task)
);
INSERT INTO "leases" VALUES('1','1','1',1);
CREATE TABLE live_events (
	store_id VARCHAR(32) NOT NULL, 
	entry_id VARCHAR(32) NOT NULL, 
	at BIGINT NOT NULL, 
	verdict VARCHAR(16) NOT NULL, 
	kind VARCHAR(32) NOT NULL, 
	session VARCHAR(128) NOT NULL, 
	item VARCHAR(128) NOT NULL, 
	client VARCHAR(16) NOT NULL, 
	detail TEXT NOT NULL, 
	body TEXT NOT NULL, 
	CONSTRAINT pk_live_events PRIMARY KEY (store_id, entry_id)
);
INSERT INTO "live_events" VALUES('1','1',1,'1','1','1','1','1','1','1');
CREATE TABLE login_attempts (
	name_hash VARCHAR(64) NOT NULL, 
	full_at BIGINT NOT NULL, 
	CONSTRAINT pk_login_attempts PRIMARY KEY (name_hash)
);
INSERT INTO "login_attempts" VALUES('1',1);
CREATE TABLE look_days (
	store_id VARCHAR(32) NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	look TEXT NOT NULL, 
	item BIGINT NOT NULL, 
	shown BIGINT NOT NULL, 
	clicked BIGINT NOT NULL, 
	CONSTRAINT pk_look_days PRIMARY KEY (store_id, day, look, item)
)
 WITHOUT ROWID

;
INSERT INTO "look_days" VALUES('1','1','1',1,1,1);
CREATE TABLE look_pictures (
	store_id VARCHAR(32) NOT NULL, 
	picture_id VARCHAR(32) NOT NULL, 
	content BLOB NOT NULL, 
	width BIGINT NOT NULL, 
	height BIGINT NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_look_pictures PRIMARY KEY (store_id, picture_id)
);
INSERT INTO "look_pictures" VALUES('1','1',X'31',1,1,1);
CREATE TABLE look_versions (
	store_id VARCHAR(32) NOT NULL, 
	look_id BIGINT NOT NULL, 
	version BIGINT NOT NULL, 
	item_id TEXT NOT NULL, 
	image_url TEXT NOT NULL, 
	picture_id VARCHAR(32), 
	title TEXT NOT NULL, 
	hotspots TEXT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	updated_by VARCHAR(320), 
	CONSTRAINT pk_look_versions PRIMARY KEY (store_id, look_id, version)
);
INSERT INTO "look_versions" VALUES('1',1,1,'1','1','1','1','1',1,'1');
CREATE TABLE looks (
	store_id VARCHAR(32) NOT NULL, 
	look_id BIGINT NOT NULL, 
	item_id TEXT NOT NULL, 
	image_url TEXT NOT NULL, 
	picture_id VARCHAR(32), 
	title TEXT NOT NULL, 
	hotspots TEXT NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	published_at BIGINT, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	updated_by VARCHAR(320), 
	CONSTRAINT pk_looks PRIMARY KEY (store_id, look_id)
);
INSERT INTO "looks" VALUES('1',1,'1','1','1','1','1','1',1,1,1,'1');
CREATE TABLE mail_choices (
	store_id VARCHAR(32) NOT NULL, 
	day INTEGER NOT NULL, 
	recipient BIGINT NOT NULL, 
	mail VARCHAR(32) NOT NULL, 
	products TEXT NOT NULL, 
	CONSTRAINT pk_mail_choices PRIMARY KEY (store_id, day, recipient, mail)
)
 WITHOUT ROWID

;
INSERT INTO "mail_choices" VALUES('1',1,1,'1','1');
CREATE TABLE mail_days (
	store_id VARCHAR(32) NOT NULL, 
	day INTEGER NOT NULL, 
	slot VARCHAR(64) NOT NULL, 
	pictures BIGINT NOT NULL, 
	proxy_pictures BIGINT NOT NULL, 
	clicks BIGINT NOT NULL, 
	CONSTRAINT pk_mail_days PRIMARY KEY (store_id, day, slot)
)
 WITHOUT ROWID

;
INSERT INTO "mail_days" VALUES('1',1,'1',1,1,1);
CREATE TABLE metered_calls (
	store_id VARCHAR(32) NOT NULL, 
	month VARCHAR(7) NOT NULL, 
	calls BIGINT NOT NULL, 
	CONSTRAINT pk_metered_calls PRIMARY KEY (store_id, month), 
	CONSTRAINT fk_metered_calls_store_id FOREIGN KEY(store_id) REFERENCES stores (store_id) ON DELETE CASCADE
);
INSERT INTO "metered_calls" VALUES('1','1',1);
CREATE TABLE metering_rounds (
	sheet VARCHAR(16) NOT NULL, 
	round BIGINT NOT NULL, 
	CONSTRAINT pk_metering_rounds PRIMARY KEY (sheet)
);
INSERT INTO "metering_rounds" VALUES('1',1);
CREATE TABLE models (
	store_id VARCHAR(32) NOT NULL, 
	model_id VARCHAR(64) NOT NULL, 
	applied_seq BIGINT NOT NULL, 
	catalog_seq BIGINT NOT NULL, 
	settings_hash VARCHAR(64) NOT NULL, 
	trained_at BIGINT NOT NULL, 
	CONSTRAINT pk_models PRIMARY KEY (store_id, model_id)
);
INSERT INTO "models" VALUES('1','1',1,1,'1',1);
CREATE TABLE named_calls (
	store_id VARCHAR(32) NOT NULL, 
	what VARCHAR(16) NOT NULL, 
	name VARCHAR(255) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	answer TEXT NOT NULL, 
	stored_at BIGINT NOT NULL, 
	CONSTRAINT pk_named_calls PRIMARY KEY (store_id, what, name)
);
INSERT INTO "named_calls" VALUES('1','1','1','1','1',1);
CREATE TABLE order_receipts (
	store_id VARCHAR(32) NOT NULL, 
	order_id VARCHAR(255) NOT NULL, 
	receipt INTEGER NOT NULL, 
	received_at BIGINT NOT NULL, 
	CONSTRAINT pk_order_receipts PRIMARY KEY (store_id, order_id)
)
 WITHOUT ROWID

;
INSERT INTO "order_receipts" VALUES('1','1',1,1);
CREATE TABLE outcome_days (
	store_id VARCHAR(32) NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	currency VARCHAR(8) NOT NULL, 
	carts BIGINT NOT NULL, 
	cart_value DOUBLE NOT NULL, 
	lines BIGINT NOT NULL, 
	units BIGINT NOT NULL, 
	revenue DOUBLE NOT NULL, 
	orders BIGINT NOT NULL, 
	orders_credited BIGINT NOT NULL, 
	orders_clicked BIGINT DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_outcome_days PRIMARY KEY (store_id, day, currency)
)
 WITHOUT ROWID

;
INSERT INTO "outcome_days" VALUES('1','1','1',1,1.0,1,1,1.0,1,1,1);
CREATE TABLE outcomes (
	store_id VARCHAR(32) NOT NULL, 
	fact BIGINT NOT NULL, 
	kind SMALLINT NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	ts BIGINT NOT NULL, 
	item BIGINT NOT NULL, 
	basket BIGINT, 
	units BIGINT NOT NULL, 
	value DOUBLE NOT NULL, 
	currency VARCHAR(8) NOT NULL, 
	touch BIGINT, 
	clicked BOOLEAN, 
	touched_at BIGINT, 
	widget TEXT NOT NULL, 
	source TEXT NOT NULL, 
	position BIGINT NOT NULL, 
	search BIGINT, 
	intent TEXT DEFAULT '' NOT NULL, look TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_outcomes PRIMARY KEY (store_id, fact)
)
 WITHOUT ROWID

;
INSERT INTO "outcomes" VALUES('1',1,1,'1',1,1,1,1,1.0,'1',1,1,1,'1','1',1,1,'1','1');
CREATE TABLE pictures (
	store_id VARCHAR(32) NOT NULL, 
	number BIGINT NOT NULL, 
	url TEXT NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	reason TEXT, 
	attempts BIGINT DEFAULT '0' NOT NULL, 
	due_at BIGINT, 
	etag VARCHAR(200), 
	modified VARCHAR(200), 
	fetched_at BIGINT, 
	embedder VARCHAR(80), 
	descriptor BLOB, 
	seq BIGINT DEFAULT '0' NOT NULL, 
	digest BIGINT, other_embedder VARCHAR(80), other_descriptor BLOB, 
	CONSTRAINT pk_pictures PRIMARY KEY (store_id, number)
);
INSERT INTO "pictures" VALUES('1',1,'1','1','1',1,1,'1','1',1,'1',X'31',1,1,'1',X'31');
CREATE TABLE placements (
	store_id VARCHAR(32) NOT NULL, 
	name VARCHAR(64) NOT NULL, 
	content TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	CONSTRAINT pk_placements PRIMARY KEY (store_id, name)
);
INSERT INTO "placements" VALUES('1','1','1',1,1,1);
CREATE TABLE product_terms (
	store_id VARCHAR(32) NOT NULL, 
	item BIGINT NOT NULL, 
	supplier VARCHAR(100) NOT NULL, 
	pack_size INTEGER NOT NULL, 
	minimum_quantity INTEGER NOT NULL, 
	CONSTRAINT pk_product_terms PRIMARY KEY (store_id, item)
)
 WITHOUT ROWID

;
INSERT INTO "product_terms" VALUES('1',1,'1',1,1);
CREATE TABLE purchase_lines (
	store_id VARCHAR(32) NOT NULL, 
	line_seq BIGINT NOT NULL, 
	seq BIGINT NOT NULL, 
	basket BIGINT, 
	order_id TEXT, 
	receipt INTEGER NOT NULL, 
	item BIGINT NOT NULL, 
	line INTEGER NOT NULL, 
	channel SMALLINT NOT NULL, 
	void BOOLEAN NOT NULL, 
	ts BIGINT NOT NULL, 
	quantity BIGINT, 
	price DOUBLE, 
	total DOUBLE, 
	currency VARCHAR(8), 
	shopper TEXT, 
	person TEXT, 
	session TEXT, 
	imported BOOLEAN NOT NULL, updated_at BIGINT, unconfirmed BOOLEAN DEFAULT 0 NOT NULL, excess BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_purchase_lines PRIMARY KEY (store_id, line_seq), 
	CONSTRAINT uq_purchase_lines_store_id_order_id_receipt_item_line UNIQUE (store_id, order_id, receipt, item, line)
)
 WITHOUT ROWID

;
INSERT INTO "purchase_lines" VALUES('1',1,1,1,'1',1,1,1,1,1,1,1,1.0,1.0,'1','1','1','1',1,1,1,1);
CREATE TABLE purchase_order_lines (
	store_id VARCHAR(32) NOT NULL, 
	number BIGINT NOT NULL, 
	item BIGINT NOT NULL, 
	supplier VARCHAR(100) NOT NULL, 
	quantity INTEGER NOT NULL, 
	expected_day VARCHAR(10) NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_purchase_order_lines PRIMARY KEY (store_id, number)
)
 WITHOUT ROWID

;
INSERT INTO "purchase_order_lines" VALUES('1',1,1,'1',1,'1',1);
CREATE TABLE question_counts (
	store_id VARCHAR(32) NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	attribute TEXT NOT NULL, 
	offered BIGINT NOT NULL, 
	answered BIGINT NOT NULL, 
	CONSTRAINT pk_question_counts PRIMARY KEY (store_id, day, attribute)
)
 WITHOUT ROWID

;
INSERT INTO "question_counts" VALUES('1','1','1',1,1);
CREATE TABLE refused_identities (
	store_id VARCHAR(32) NOT NULL, 
	day INTEGER NOT NULL, 
	reason VARCHAR(16) NOT NULL, 
	calls BIGINT NOT NULL, 
	CONSTRAINT pk_refused_identities PRIMARY KEY (store_id, day, reason)
)
 WITHOUT ROWID

;
INSERT INTO "refused_identities" VALUES('1',1,'1',1);
CREATE TABLE relevance_judgements (
	store_id VARCHAR(32) NOT NULL, 
	intent VARCHAR(256) NOT NULL, 
	item BIGINT NOT NULL, 
	by_hand BOOLEAN NOT NULL, 
	grade SMALLINT NOT NULL, 
	shoppers BIGINT NOT NULL, 
	judged_at BIGINT NOT NULL, 
	CONSTRAINT pk_relevance_judgements PRIMARY KEY (store_id, intent, item, by_hand)
)
 WITHOUT ROWID

;
INSERT INTO "relevance_judgements" VALUES('1','1',1,1,1,1,1);
CREATE TABLE relevance_measures (
	store_id VARCHAR(32) NOT NULL, 
	measured_at BIGINT NOT NULL, 
	ndcg DOUBLE, 
	no_results DOUBLE, 
	click_through DOUBLE, 
	queries BIGINT NOT NULL, 
	judged_queries BIGINT NOT NULL, 
	ndcg_before DOUBLE, 
	ndcg_same DOUBLE, 
	is_alarm BOOLEAN NOT NULL, 
	changes TEXT NOT NULL, 
	versions TEXT NOT NULL, 
	CONSTRAINT pk_relevance_measures PRIMARY KEY (store_id, measured_at)
)
 WITHOUT ROWID

;
INSERT INTO "relevance_measures" VALUES('1',1,1.0,1.0,1.0,1,1,1.0,1.0,1,'1','1');
CREATE TABLE relevance_queries (
	store_id VARCHAR(32) NOT NULL, 
	intent VARCHAR(256) NOT NULL, 
	text TEXT NOT NULL, 
	origin VARCHAR(8) NOT NULL, 
	searches BIGINT NOT NULL, 
	weight DOUBLE NOT NULL, 
	added_at BIGINT NOT NULL, 
	results TEXT, 
	ndcg DOUBLE, 
	CONSTRAINT pk_relevance_queries PRIMARY KEY (store_id, intent)
)
 WITHOUT ROWID

;
INSERT INTO "relevance_queries" VALUES('1','1','1','1',1,1.0,1,'1',1.0);
CREATE TABLE rule_changes (
	store_id VARCHAR(32) NOT NULL, 
	change_id BIGINT NOT NULL, 
	rule_id BIGINT NOT NULL, 
	changed_at BIGINT NOT NULL, 
	actor TEXT NOT NULL, 
	what VARCHAR(16) NOT NULL, 
	rule TEXT NOT NULL, 
	CONSTRAINT pk_rule_changes PRIMARY KEY (store_id, change_id)
);
INSERT INTO "rule_changes" VALUES('1',1,1,1,'1','1','1');
CREATE TABLE rules (
	store_id VARCHAR(32) NOT NULL, 
	rule_id BIGINT NOT NULL, 
	name TEXT NOT NULL, 
	action VARCHAR(16) NOT NULL, 
	target TEXT NOT NULL, 
	places TEXT NOT NULL, 
	starts VARCHAR(40), 
	ends VARCHAR(40), 
	priority INTEGER NOT NULL, 
	enabled BOOLEAN NOT NULL, 
	strength DOUBLE, 
	position INTEGER, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	CONSTRAINT pk_rules PRIMARY KEY (store_id, rule_id)
);
INSERT INTO "rules" VALUES('1',1,'1','1','1','1','1','1',1,1,1.0,1,1,1);
CREATE TABLE scheduled_feed_fetches (
	store_id VARCHAR(32) NOT NULL, 
	number BIGINT NOT NULL, 
	fetched_at BIGINT NOT NULL, 
	outcome VARCHAR(16) NOT NULL, 
	problem TEXT NOT NULL, 
	size BIGINT NOT NULL, 
	import_id VARCHAR(32), 
	CONSTRAINT pk_scheduled_feed_fetches PRIMARY KEY (store_id, number)
)
 WITHOUT ROWID

;
INSERT INTO "scheduled_feed_fetches" VALUES('1',1,1,'1','1',1,'1');
CREATE TABLE scheduled_feeds (
	store_id VARCHAR(32) NOT NULL, 
	url TEXT NOT NULL, 
	header TEXT NOT NULL, 
	every_minutes INTEGER NOT NULL, 
	is_complete BOOLEAN NOT NULL, 
	next_at BIGINT NOT NULL, 
	choices TEXT NOT NULL, 
	etag TEXT, 
	modified TEXT, 
	digest VARCHAR(64), 
	import_id VARCHAR(32), 
	failures INTEGER NOT NULL, hour INTEGER, 
	CONSTRAINT pk_scheduled_feeds PRIMARY KEY (store_id)
)
 WITHOUT ROWID

;
INSERT INTO "scheduled_feeds" VALUES('1','1','1',1,1,1,'1','1','1','1','1',1,1);
CREATE TABLE search_counts (
	store_id VARCHAR(32) NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	intent VARCHAR(256) NOT NULL, 
	text TEXT NOT NULL, 
	searches BIGINT NOT NULL, 
	empty BIGINT NOT NULL, 
	unnamed BIGINT DEFAULT '0' NOT NULL, 
	shoppers BLOB DEFAULT '' NOT NULL, 
	CONSTRAINT pk_search_counts PRIMARY KEY (store_id, day, intent)
)
 WITHOUT ROWID

;
INSERT INTO "search_counts" VALUES('1','1','1','1',1,1,1,X'31');
CREATE TABLE search_credit_days (
	store_id VARCHAR(32) NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	intent TEXT NOT NULL, 
	currency VARCHAR(8) NOT NULL, 
	carts BIGINT NOT NULL, 
	lines BIGINT NOT NULL, 
	units BIGINT NOT NULL, 
	revenue DOUBLE NOT NULL, 
	CONSTRAINT pk_search_credit_days PRIMARY KEY (store_id, day, intent, currency)
)
 WITHOUT ROWID

;
INSERT INTO "search_credit_days" VALUES('1','1','1','1',1,1,1,1.0);
CREATE TABLE search_days (
	store_id VARCHAR(32) NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	intent TEXT NOT NULL, 
	text TEXT NOT NULL, 
	clicks BIGINT NOT NULL, 
	shoppers BIGINT NOT NULL, 
	positions BIGINT NOT NULL, 
	position_sum BIGINT NOT NULL, 
	who BLOB NOT NULL, 
	CONSTRAINT pk_search_days PRIMARY KEY (store_id, day, intent)
)
 WITHOUT ROWID

;
INSERT INTO "search_days" VALUES('1','1','1','1',1,1,1,1,X'31');
CREATE TABLE search_rules (
	store_id VARCHAR(32) NOT NULL, 
	rule_id BIGINT NOT NULL, 
	action VARCHAR(16) NOT NULL, 
	"query" TEXT NOT NULL, 
	items TEXT NOT NULL, 
	address TEXT, 
	starts VARCHAR(40), 
	ends VARCHAR(40), 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_search_rules PRIMARY KEY (store_id, rule_id)
);
INSERT INTO "search_rules" VALUES('1',1,'1','1','1','1','1','1',1);
CREATE TABLE shopper_days (
	store_id VARCHAR(32) NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	widget TEXT NOT NULL, 
	source TEXT NOT NULL, 
	shown BLOB NOT NULL, 
	clicked BLOB NOT NULL, 
	CONSTRAINT pk_shopper_days PRIMARY KEY (store_id, day, widget, source)
)
 WITHOUT ROWID

;
INSERT INTO "shopper_days" VALUES('1','1','1','1',X'31',X'31');
CREATE TABLE shopper_links (
	store_id VARCHAR(32) NOT NULL, 
	session TEXT NOT NULL, 
	customer TEXT NOT NULL, 
	since_seq BIGINT NOT NULL, confirmed BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_shopper_links PRIMARY KEY (store_id, session)
)
 WITHOUT ROWID

;
INSERT INTO "shopper_links" VALUES('1','1','1',1,1);
CREATE TABLE sightings (
	store_id VARCHAR(32) NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	value VARCHAR(255) NOT NULL, 
	first_at BIGINT NOT NULL, 
	last_at BIGINT NOT NULL, 
	CONSTRAINT pk_sightings PRIMARY KEY (store_id, kind, value)
)
 WITHOUT ROWID

;
INSERT INTO "sightings" VALUES('1','1','1',1,1);
ANALYZE "sqlite_master";
CREATE TABLE stock_outs (
	store_id VARCHAR(32) NOT NULL, 
	item BIGINT NOT NULL, 
	since BIGINT NOT NULL, 
	until BIGINT, 
	CONSTRAINT pk_stock_outs PRIMARY KEY (store_id, item, since)
)
 WITHOUT ROWID

;
INSERT INTO "stock_outs" VALUES('1',1,1,1);
CREATE TABLE store_connections (
	store_id VARCHAR(32) NOT NULL, 
	platform VARCHAR(32), 
	platform_chosen BOOLEAN NOT NULL, 
	plugin_version TEXT, 
	store_url TEXT, 
	first_connected_at BIGINT, 
	CONSTRAINT pk_store_connections PRIMARY KEY (store_id)
);
INSERT INTO "store_connections" VALUES('1','1',1,'1','1',1);
CREATE TABLE store_heads (
	store_id VARCHAR(32) NOT NULL, 
	seq BIGINT DEFAULT '0' NOT NULL, 
	catalog_seq BIGINT DEFAULT '0' NOT NULL, 
	catalog_size BIGINT DEFAULT '0' NOT NULL, 
	next_number BIGINT DEFAULT '0' NOT NULL, 
	price_lists TEXT DEFAULT '{}' NOT NULL, 
	model_id VARCHAR(64), 
	search_seq BIGINT DEFAULT '0' NOT NULL, 
	synced_at BIGINT, 
	rules_seq BIGINT DEFAULT '0' NOT NULL, 
	pictured_seq BIGINT DEFAULT '0' NOT NULL, 
	picture_seq BIGINT DEFAULT '0' NOT NULL, 
	visual_seq BIGINT DEFAULT '0' NOT NULL, 
	visual_id VARCHAR(64), 
	visual_taught_seq BIGINT DEFAULT '0' NOT NULL, 
	looks_seq BIGINT DEFAULT '0' NOT NULL, 
	placements_seq BIGINT DEFAULT '0' NOT NULL, 
	index_id VARCHAR(64), 
	erasures BIGINT DEFAULT '0' NOT NULL, 
	bots BIGINT DEFAULT '0' NOT NULL, confirmed_order_at BIGINT, 
	CONSTRAINT pk_store_heads PRIMARY KEY (store_id)
);
INSERT INTO "store_heads" VALUES('1',1,1,1,1,'1','1',1,1,1,1,1,1,'1',1,1,1,'1',1,1,1);
CREATE TABLE stores (
	store_id VARCHAR(32) NOT NULL, 
	domain VARCHAR(255) NOT NULL, 
	email VARCHAR(320), 
	password_hash VARCHAR(255), 
	"plan" VARCHAR(32) NOT NULL, 
	publishable_key VARCHAR(64) NOT NULL, 
	secret_hash VARCHAR(64), 
	origins TEXT NOT NULL, 
	settings TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	plan_ends_at BIGINT, 
	suspended_at BIGINT, 
	secret_end VARCHAR(4), 
	secret_made_at BIGINT, 
	old_secret_hash VARCHAR(64), 
	old_secret_end VARCHAR(4), 
	old_secret_made_at BIGINT, 
	old_secret_expires_at BIGINT, 
	CONSTRAINT pk_stores PRIMARY KEY (store_id), 
	CONSTRAINT uq_stores_domain UNIQUE (domain), 
	CONSTRAINT uq_stores_publishable_key UNIQUE (publishable_key), 
	CONSTRAINT uq_stores_secret_hash UNIQUE (secret_hash)
);
INSERT INTO "stores" VALUES('1','1','1','1','1','1','1','1','1',1,1,1,'1',1,'1','1',1,1);
CREATE TABLE suppliers (
	store_id VARCHAR(32) NOT NULL, 
	name VARCHAR(100) NOT NULL, 
	lead_time_days INTEGER, 
	order_every_days INTEGER, 
	minimum_order DOUBLE NOT NULL, 
	CONSTRAINT pk_suppliers PRIMARY KEY (store_id, name)
)
 WITHOUT ROWID

;
INSERT INTO "suppliers" VALUES('1','1',1,1,1.0);
CREATE TABLE synonyms (
	store_id VARCHAR(32) NOT NULL, 
	synonym_id BIGINT NOT NULL, 
	texts TEXT NOT NULL, 
	one_way BOOLEAN NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_synonyms PRIMARY KEY (store_id, synonym_id)
);
INSERT INTO "synonyms" VALUES('1',1,'1',1,1);
CREATE TABLE touch_days (
	store_id VARCHAR(32) NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	widget TEXT NOT NULL, 
	source TEXT NOT NULL, 
	position BIGINT NOT NULL, 
	shown BIGINT NOT NULL, 
	clicked BIGINT NOT NULL, 
	CONSTRAINT pk_touch_days PRIMARY KEY (store_id, day, widget, source, position)
)
 WITHOUT ROWID

;
INSERT INTO "touch_days" VALUES('1','1','1','1',1,1,1);
CREATE TABLE uploads (
	store_id VARCHAR(32) NOT NULL, 
	upload_id VARCHAR(32) NOT NULL, 
	number BIGINT NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	submitted_at BIGINT NOT NULL, 
	format TEXT NOT NULL, 
	rows BIGINT NOT NULL, 
	rows_done BIGINT NOT NULL, 
	lines_imported BIGINT NOT NULL, 
	lines_updated BIGINT DEFAULT '0' NOT NULL, 
	rows_undated BIGINT DEFAULT '0' NOT NULL, 
	undated TEXT DEFAULT '[]' NOT NULL, 
	rows_skipped BIGINT NOT NULL, 
	errors TEXT NOT NULL, 
	attempts INTEGER NOT NULL, 
	CONSTRAINT pk_uploads PRIMARY KEY (store_id, upload_id), 
	CONSTRAINT uq_uploads_store_id_number UNIQUE (store_id, number)
);
INSERT INTO "uploads" VALUES('1','1',1,'1',1,'1',1,1,1,1,1,'1',1,'1',1);
CREATE TABLE webhook_endpoints (
	store_id VARCHAR(32) NOT NULL, 
	endpoint_id VARCHAR(24) NOT NULL, 
	url TEXT NOT NULL, 
	secret TEXT NOT NULL, 
	state VARCHAR(8) NOT NULL, 
	created_at BIGINT NOT NULL, 
	last_number BIGINT NOT NULL, left_out TEXT, 
	CONSTRAINT pk_webhook_endpoints PRIMARY KEY (store_id, endpoint_id)
)
 WITHOUT ROWID

;
INSERT INTO "webhook_endpoints" VALUES('1','1','1','1','1',1,1,'1');
CREATE TABLE webhook_messages (
	store_id VARCHAR(32) NOT NULL, 
	endpoint_id VARCHAR(24) NOT NULL, 
	number BIGINT NOT NULL, 
	event VARCHAR(40) NOT NULL, 
	body TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	state VARCHAR(12) NOT NULL, 
	attempts INTEGER NOT NULL, 
	next_at BIGINT NOT NULL, 
	tried_at BIGINT, 
	reply TEXT, 
	CONSTRAINT pk_webhook_messages PRIMARY KEY (store_id, endpoint_id, number)
)
 WITHOUT ROWID

;
INSERT INTO "webhook_messages" VALUES('1','1',1,'1','1',1,'1',1,1,1,'1');
CREATE TABLE webhook_positions (
	store_id VARCHAR(32) NOT NULL, 
	source VARCHAR(40) NOT NULL, 
	position TEXT NOT NULL, 
	CONSTRAINT pk_webhook_positions PRIMARY KEY (store_id, source)
)
 WITHOUT ROWID

;
INSERT INTO "webhook_positions" VALUES('1','1','1');
CREATE TABLE widget_configs (
	store_id VARCHAR(32) NOT NULL, 
	type VARCHAR(32) NOT NULL, 
	settings TEXT NOT NULL, 
	custom_css TEXT, 
	scoped BOOLEAN, 
	updated_at BIGINT NOT NULL, 
	CONSTRAINT pk_widget_configs PRIMARY KEY (store_id, type)
);
INSERT INTO "widget_configs" VALUES('1','1','1','1',1,1);
CREATE INDEX ix_bot_events_store_id_person ON bot_events (store_id, person);
CREATE INDEX ix_bot_events_store_id_ts_bot ON bot_events (store_id, ts, bot);
CREATE INDEX ix_dashboard_users_email ON dashboard_users (email);
CREATE INDEX ix_event_receipts_store_id_received_at ON event_receipts (store_id, received_at);
CREATE INDEX ix_events_store_id_person_seq_kind_item_ts_session ON events (store_id, person, seq, kind, item, ts, session);
CREATE INDEX ix_exposures_store_id_test_first_at ON exposures (store_id, test, first_at);
CREATE INDEX ix_file_imports_status ON file_imports (status);
CREATE INDEX ix_items_store_id_change_seq ON items (store_id, change_seq);
CREATE INDEX ix_jobs_state_run_at ON jobs (state, run_at);
CREATE UNIQUE INDEX uq_jobs_one_queued ON jobs (store_id, "key") WHERE state = 'queued';
CREATE UNIQUE INDEX uq_jobs_one_running ON jobs (store_id, "key") WHERE state = 'running';
CREATE INDEX ix_login_attempts_full_at ON login_attempts (full_at);
CREATE INDEX ix_looks_store_id_state ON looks (store_id, state);
CREATE INDEX ix_outcomes_store_id_day ON outcomes (store_id, day);
CREATE INDEX ix_pictures_due_at ON pictures (due_at);
CREATE INDEX ix_pictures_store_id_state ON pictures (store_id, state);
CREATE INDEX ix_purchase_lines_store_id_person_seq_void_item_ts_session ON purchase_lines (store_id, person, seq, void, item, ts, session);
CREATE INDEX ix_purchase_lines_store_id_seq ON purchase_lines (store_id, seq);
CREATE INDEX ix_shopper_links_store_id_customer ON shopper_links (store_id, customer);
CREATE INDEX ix_shopper_links_store_id_since_seq ON shopper_links (store_id, since_seq);
CREATE INDEX ix_uploads_status ON uploads (status);
CREATE INDEX ix_purchase_lines_unconfirmed ON purchase_lines (store_id, void, seq) WHERE unconfirmed;
CREATE INDEX ix_dashboard_users_login_id ON dashboard_users (login_id);
CREATE INDEX ix_scheduled_feeds_next_at ON scheduled_feeds (next_at);
CREATE INDEX ix_webhook_messages_pending ON webhook_messages (next_at) WHERE state = 'pending';
COMMIT;
