<?php
// Fake shop: the functions of WordPress and WooCommerce that the plugin calls, in memory.
//
// Only what the tests need. HTTP is real, through PHP's streams, and is counted in $calls.

namespace {
	define( 'ABSPATH', __DIR__ );
	define( 'DAY_IN_SECONDS', 86400 );
	define( 'WEEK_IN_SECONDS', 604800 );
	$hooks = $options = $meta = $jobs = $posts = $objects = $calls = $shutdown = array();
	$user  = 0;
	$next  = 100;

	// Hooks.
	function add_action( $hook, $callback, $priority = 10, $arguments = 1 ) { add_filter( $hook, $callback, $priority, $arguments ); }
	function add_filter( $hook, $callback, $priority = 10, $arguments = 1 ) { $GLOBALS['hooks'][ $hook ][ $priority ][] = array( $callback, $arguments ); }
	function remove_filter( $hook, $callback ) { $GLOBALS['hooks'][ $hook ] = array_map( fn( $all ) => array_filter( $all, fn( $one ) => $one[0] !== $callback ), $GLOBALS['hooks'][ $hook ] ); }
	function do_action( $hook, ...$given ) { run_hook( $hook, $given, false ); }
	function apply_filters( $hook, ...$given ) { return run_hook( $hook, $given ); }
	function run_hook( $hook, $given, $is_filter = true ) {
		$found = $GLOBALS['hooks'][ $hook ] ?? array();
		ksort( $found );
		foreach ( $found as $callbacks ) {
			foreach ( $callbacks as $one ) {
				$said = ( $one[0] )( ...array_slice( $given, 0, $one[1] ) );
				if ( $given && $is_filter ) { $given[0] = $said; }
			}
		}
		return $given[0] ?? null;
	}
	function register_activation_hook( $file, $callback ) { add_action( 'activate', $callback ); }
	function register_deactivation_hook( $file, $callback ) { add_action( 'deactivate', $callback ); }
	function load_plugin_textdomain() {}
	function wp_register_script() {}
	function wp_set_script_translations() {}
	function register_block_type() {}
	function add_shortcode( $name, $callback ) { $GLOBALS['shortcodes'][ $name ] = $callback; }
	function shortcode_atts( $defaults, $given ) { return array_merge( $defaults, array_intersect_key( $given, $defaults ) ); }

	// Options and posts.
	function get_option( $name, $default = false ) { return apply_filters( 'pre_option_' . $name, false ) ?: $GLOBALS['options'][ $name ] ?? $default; }
	function update_option( $name, $value ) {
		$before                      = $GLOBALS['options'][ $name ] ?? false;
		$GLOBALS['options'][ $name ] = $value;
		if ( $before !== $value ) { do_action( 'update_option_' . $name, $before, $value ); }
		return true;
	}
	function add_option( $name, $value ) { if ( isset( $GLOBALS['options'][ $name ] ) ) { return false; } return update_option( $name, $value ); }
	function delete_option( $name ) { unset( $GLOBALS['options'][ $name ] ); }
	function get_post_meta( $id, $key ) { return $GLOBALS['meta'][ $id ][ $key ] ?? ''; }
	function update_post_meta( $id, $key, $value ) { $GLOBALS['meta'][ $id ][ $key ] = $value; }
	function delete_post_meta( $id, $key ) { unset( $GLOBALS['meta'][ $id ][ $key ] ); }
	function delete_post_meta_by_key( $key ) { foreach ( $GLOBALS['meta'] as $id => $all ) { unset( $GLOBALS['meta'][ $id ][ $key ] ); } $GLOBALS['meta'] = array_filter( $GLOBALS['meta'] ); }
	function get_post_type( $id ) { return $GLOBALS['posts'][ $id ]['type'] ?? false; }
	function wp_get_post_parent_id( $id ) { return $GLOBALS['posts'][ $id ]['parent'] ?? 0; }
	function get_post_field( $field, $id ) { return ''; }
	function get_ancestors() { return array(); }
	function wp_get_attachment_image_url( $id ) { return "http://shop.example/$id.png"; }
	function maybe_unserialize( $value ) { return $value; }
	function get_term_children( $id ) { return $GLOBALS['below'][ $id ] ?? array(); }
	function get_objects_in_term( $ids ) { return array_keys( array_filter( $GLOBALS['objects'], fn( $one ) => array_intersect( $ids, $one->get_category_ids() ) ) ); }
	function get_term( $id ) { return (object) array( 'name' => "Category $id" ); }
	class Fake_Wpdb {
		public $posts = 'wp_posts';
		public $postmeta = 'wp_postmeta';
		public $users = 'wp_users';
		public $options = 'wp_options';
		public $term_relationships = 'wp_term_relationships';
		public $prefix = 'wp_';
		public $outbox = array(); // order_id => due, changes, told.
		public function get_charset_collate() { return ''; }
		public function prepare( $sql, ...$values ) {
			$values = is_array( $values[0] ?? 0 ) ? $values[0] : $values;
			return preg_replace_callback( '/%[ds]/', function ( $at ) use ( &$values ) { $value = array_shift( $values ); return '%d' === $at[0] ? (int) $value : "'$value'"; }, $sql );
		}
		private function numbers( $text ) { preg_match_all( '/\d+/', $text, $found ); return array_map( 'intval', $found[0] ); }
		public function esc_like( $text ) { return $text; }
		public function get_col( $sql ) {
			if ( preg_match( "/meta_key = '_thumbnail_id' AND meta_value = '(\d+)'/", $sql, $found ) ) { return array_keys( array_filter( $GLOBALS['objects'], fn( $one ) => (int) $found[1] === ( $one->facts['image_id'] ?? 0 ) ) ); }
			if ( preg_match( "/option_name LIKE '(.*)%'/", $sql, $found ) ) { return array_filter( array_keys( $GLOBALS['options'] ), fn( $name ) => 0 === strpos( $name, $found[1] ) ); }
			if ( preg_match( '/ID IN \((.*)\)/', $sql, $found ) ) { return array_intersect( $this->published(), $this->numbers( $found[1] ) ); }
			preg_match( '/ID > (\d+) ORDER BY ID LIMIT (\d+)/', $sql, $found );
			$ids = strpos( $sql, $this->users ) ? ( $GLOBALS['users'] ?? array() ) : $this->published();
			return array_slice( array_filter( $ids, fn( $id ) => $id > $found[1] ), 0, $found[2] );
		}
		private function published() {
			$ids = array_keys( array_filter( $GLOBALS['posts'], fn( $post ) => 'product' === $post['type'] && 'publish' === $post['status'] ) );
			sort( $ids );
			return $ids;
		}
		private function due() {
			$due = array_filter( $this->outbox, fn( $row ) => $row['due'] > 0 );
			uksort( $due, fn( $one, $other ) => array( $due[ $one ]['due'], $one ) <=> array( $due[ $other ]['due'], $other ) );
			return $due;
		}
		public function get_results( $sql ) {
			if ( strpos( $sql, "meta_key = '_children'" ) ) { return array_map( fn( $one ) => (object) array( 'post_id' => $one->get_id(), 'meta_value' => $one->facts['children'] ), array_filter( $GLOBALS['objects'], fn( $one ) => $one->is_type( 'grouped' ) ) ); }
			$rows = array();
			foreach ( array_slice( $this->due(), 0, $this->numbers( strrchr( $sql, ' ' ) )[0], true ) as $id => $row ) { $rows[] = (object) ( array( 'order_id' => $id ) + $row ); }
			return $rows;
		}
		public function get_var( $sql ) {
			if ( 0 === strpos( $sql, 'SHOW TABLES' ) ) { return null; }
			if ( ! strpos( $sql, 'product_recs_orders' ) ) { return strpos( $sql, 'HAVING' ) ? count( $GLOBALS['hidden'] ?? array() ) : count( $this->published() ); }
			$most = $this->numbers( strrchr( $sql, ' ' ) )[0];
			return count( array_filter( $this->due(), fn( $row ) => strpos( $sql, 'due <' ) ? $row['due'] < $most : $row['due'] === $most ) );
		}
		public function query( $sql ) {
			if ( preg_match( '/^INSERT IGNORE .*VALUES \(\'(.*?)\', \'(.*?)\'/', $sql, $found ) ) { return add_option( $found[1], $found[2] ) ? 1 : 0; }
			if ( preg_match( '/^UPDATE wp_options SET option_value = \'(.*?)\' WHERE option_name = \'(.*?)\' AND option_value < \'(.*?)\'/', $sql, $found ) ) {
				return ( $GLOBALS['options'][ $found[2] ] ?? $found[3] ) < $found[3] ? (int) update_option( $found[2], $found[1] ) : 0;
			}
			if ( preg_match( '/^DELETE FROM wp_options WHERE option_name = \'(.*)\'/', $sql, $found ) ) { delete_option( $found[1] ); return 1; }
			if ( 0 === strpos( $sql, 'DROP TABLE' ) ) { $this->outbox = array(); return 1; }
			if ( preg_match_all( '/\((\d+), (\d+), 1\)/', $sql, $found, PREG_SET_ORDER ) ) {
				foreach ( $found as $one ) {
					$row = $this->outbox[ $one[1] ] ?? array( 'due' => 0, 'changes' => 0, 'told' => null );
					$this->outbox[ $one[1] ] = array( 'due' => ! $row['due'] ? (int) $one[2] : min( $row['due'], (int) $one[2] ), 'changes' => $row['changes'] + 1, 'told' => $row['told'] );
				}
				return count( $found );
			}
			if ( preg_match( '/SET told = (?:NULLIF\()?\'(.*?)\'(?:, \'\'\), due = IF\(changes = (\d+), 0, due\))? WHERE order_id = (\d+)$/s', $sql, $found ) ) {
				$row         = &$this->outbox[ $found[3] ];
				$row['told'] = '' === $found[1] ? null : $found[1];
				if ( '' !== $found[2] && (int) $found[2] === $row['changes'] ) { $row['due'] = 0; }
				return 1;
			}
			if ( preg_match( '/due = IF\(due = 0, (\d+), due\).*order_id (IN|BETWEEN) (.*)$/', $sql, $found ) ) {
				$ids   = $this->numbers( $found[3] );
				$count = 0;
				foreach ( $this->outbox as $id => $row ) {
					if ( null !== $row['told'] && ( 'IN' === $found[2] ? in_array( $id, $ids, true ) : $id >= $ids[0] && $id <= $ids[1] ) ) {
						$this->outbox[ $id ] = array( 'due' => $row['due'] ? $row['due'] : (int) $found[1], 'changes' => $row['changes'] + 1, 'told' => $row['told'] );
						++$count;
					}
				}
				return $count;
			}
			throw new Error( "the fake shop does not know: $sql" );
		}
	}
	function dbDelta() {}
	$wpdb = new Fake_Wpdb();

	// Texts, addresses and the page.
	function __( $text ) { return $text; }
	function esc_html__( $text ) { return esc_html( $text ); }
	function esc_html( $text ) { return htmlspecialchars( (string) $text, ENT_QUOTES ); }
	function esc_attr( $text ) { return esc_html( $text ); }
	function esc_url( $text ) { return esc_html( $text ); }
	function sanitize_text_field( $text ) { return trim( strip_tags( $text ) ); }
	function wp_unslash( $value ) { return $value; }
	function wp_strip_all_tags( $text ) { return strip_tags( $text ); }
	function strip_shortcodes( $text ) { return $text; }
	function wp_json_encode( ...$given ) { return json_encode( ...$given ); }
	function wp_parse_url( ...$given ) { return parse_url( ...$given ); }
	function home_url() { return 'http://' . $GLOBALS['host'] . '/'; }
	function plugins_url( $path ) { return '/plugins/' . $path; }
	function admin_url( $path ) { return '/wp-admin/' . $path; }
	function rest_url( $path ) { return '/wp-json/' . $path; }
	function register_rest_route( $space, $route, $options ) { $GLOBALS['routes'][ "$space$route" ] = $options; }
	function get_bloginfo() { return '7.1'; }
	function esc_attr__( $text ) { return esc_html( $text ); }
	function wp_create_nonce( $action ) { return "nonce of $action"; }
	function check_ajax_referer( $action ) { if ( "nonce of $action" !== ( $_POST['_ajax_nonce'] ?? '' ) ) { throw new Sent( 'nonce' ); } }
	function wp_send_json_success( $body ) { throw new Sent( $body ); }
	function wp_send_json_error() { throw new Sent( 'refused' ); }
	class Sent extends Exception {}
	function plugin_basename( $file ) { return basename( $file ); }
	function wp_timezone() { return new DateTimeZone( 'UTC' ); }
	function is_admin() { return ! empty( $GLOBALS['in_admin'] ); }
	function wp_doing_cron() { return false; }
	function wp_doing_ajax() { return false; }
	function is_multisite() { return false; }
	function get_transient( $name ) { return get_option( '_transient_' . $name ); }
	function set_transient( $name, $value ) { update_option( '_transient_' . $name, $value ); }
	function is_ssl() { return false; }
	function is_feed() { return false; }
	function is_product() { return true; }
	function is_cart() { return false; }
	function is_front_page() { return ! empty( $GLOBALS['posts_page'] ); }
	function is_shop() { return false; }
	function is_product_taxonomy() { return false; }
	function is_order_received_page() { return false; }
	function is_singular() { return true; }
	function get_the_ID() { return $GLOBALS['page']; }
	function current_user_can( $what ) { return ! in_array( $what, $GLOBALS['forbidden'] ?? array(), true ); }
	function wp_set_current_user( $id ) { $GLOBALS['user'] = $id; }
	function get_current_user_id() { return $GLOBALS['user']; }
	function wp_enqueue_script( $handle, $src ) { $GLOBALS['scripts'][ $handle ] = $src; }
	function wp_enqueue_style() {}
	function wp_is_block_theme() { return ! empty( $GLOBALS['block_theme'] ); }
	class Fake_Styles { public function get_data() { return $GLOBALS['inline'] ?? ''; } }
	function wp_styles() { return new Fake_Styles(); }
	function wp_add_inline_style( $handle, $css ) { $GLOBALS['inline'] = $css; }
	function is_home() { return ! empty( $GLOBALS['posts_page'] ); }
	function did_action() { return 1; }
	function get_woocommerce_currency() { return 'EUR'; }
	function get_woocommerce_currency_symbol() { return '&euro;'; }
	function get_woocommerce_price_format() { return '%2$s&nbsp;%1$s'; }
	function wc_get_price_decimals() { return 2; }
	function wc_get_price_decimal_separator() { return ','; }
	function wc_get_price_thousand_separator() { return $GLOBALS['thousands'] ?? '.'; }

	// HTTP.
	class WP_Error { public function __construct( public $why ) {} public function get_error_message() { return $this->why; } }
	function is_wp_error( $value ) { return $value instanceof WP_Error; }
	function wp_remote_request( $url, $arguments ) {
		$GLOBALS['waits'][] = $arguments['timeout'];
		$GLOBALS['calls'][] = array( $arguments['method'], parse_url( $url, PHP_URL_PATH ), $arguments['body'] ?? '' );
		$headers            = array();
		foreach ( $arguments['headers'] as $name => $value ) { $headers[] = "$name: $value"; }
		$options = array( 'method' => $arguments['method'], 'header' => $headers, 'content' => $arguments['body'] ?? '', 'timeout' => min( 2, $arguments['timeout'] ), 'ignore_errors' => true, 'follow_location' => $arguments['redirection'], 'protocol_version' => 1.1 );
		$options['header'][] = 'Connection: close';
		$body  = @file_get_contents( $url, false, stream_context_create( array( 'http' => $options ) ) );
		if ( false === $body || empty( $http_response_header ) ) { return new WP_Error( 'no reply' ); }
		return array( 'code' => (int) explode( ' ', $http_response_header[0] )[1], 'body' => $body, 'headers' => $http_response_header );
	}
	function wp_remote_retrieve_response_code( $reply ) { return $reply['code']; }
	function wp_remote_retrieve_header( $reply, $name ) { foreach ( $reply['headers'] as $line ) { if ( 0 === stripos( $line, "$name: " ) ) { return substr( $line, strlen( $name ) + 2 ); } } return ''; }
	function wp_remote_retrieve_body( $reply ) { return $reply['body']; }

	// Action Scheduler: its ids are the order in which jobs run.
	function as_schedule_single_action( $time, $hook, $arguments = array() ) { $GLOBALS['jobs'][] = array( $hook, $arguments, $time ); }
	function as_schedule_recurring_action( $time, $every, $hook, $arguments = array() ) { as_schedule_single_action( $time, $hook, $arguments ); }
	if ( empty( $without_scheduler ) ) {
		function as_enqueue_async_action( $hook, $arguments = array() ) { as_schedule_single_action( time(), $hook, $arguments ); }
	}
	function as_has_scheduled_action( $hook, $arguments ) { return (bool) as_get_scheduled_actions( array( 'hook' => $hook, 'args' => $arguments ) ); }
	function as_get_scheduled_actions( $query ) { return array_filter( $GLOBALS['jobs'], fn( $job ) => $job[0] === $query['hook'] && $job[1] === ( $query['args'] ?? $job[1] ) ); }
	function _get_cron_array() { return array_map( fn( $job ) => array( $job[0] => 1 ), $GLOBALS['jobs'] ); }
	function as_unschedule_all_actions( $hook ) { wp_unschedule_hook( $hook ); }
	function wp_schedule_single_event( $time, $hook, $arguments ) { as_schedule_single_action( $time, $hook, $arguments ); }
	function wp_schedule_event( $time, $every, $hook ) { as_schedule_single_action( $time, $hook ); }
	function wp_next_scheduled( $hook, $arguments = array() ) { return as_has_scheduled_action( $hook, $arguments ); }
	function wp_unschedule_hook( $hook ) { $GLOBALS['jobs'] = array_filter( $GLOBALS['jobs'], fn( $job ) => $job[0] !== $hook ); }

	// WooCommerce.
	class WooCommerce { }
	class Fake_Object {
		public $meta = array();
		public function __construct( public $facts ) {}
		public function __call( $name, $given ) {
			$value = $this->facts[ preg_replace( '/^get_/', '', $name ) ] ?? '';
			return 'get_price' === $name ? apply_filters( 'woocommerce_product_get_price', $value, $this ) : $value;
		}
		public function get_id() { return $this->facts['id']; }
		public function get_meta( $key ) { return $this->meta[ $key ] ?? ''; }
		public function update_meta_data( $key, $value ) { $this->meta[ $key ] = $value; }
		public function delete_meta_data( $key ) { unset( $this->meta[ $key ] ); }
		public function save_meta_data() { if ( ! empty( $this->facts['broken'] ) ) { throw new TypeError( 'a broken plugin' ); } }
		public function is_type( $type ) { return ( $this->facts['type'] ?? 'simple' ) === $type; }
		public function has_status( $statuses ) { return in_array( $this->facts['status'] ?? '', (array) $statuses, true ); }
		public function get_category_ids() { return $this->facts['category_ids'] ?? array(); }
		public function get_variation_prices() { return array( 'price' => array( 1 => $this->facts['variation_price'] ), 'regular_price' => array( 1 => $this->facts['variation_regular_price'] ) ); }
		public function get_attributes() { return $this->facts['attributes'] ?? array(); }
		public function get_global_unique_id() { return $this->facts['gtin'] ?? ''; }
		public function get_items() { return $this->facts['items'] ?? array(); }
		public function get_refunds() { return array_values( array_filter( $GLOBALS['objects'], fn( $one ) => ( $one->facts['parent_id'] ?? 0 ) === $this->get_id() && 'shop_order_refund' === $one->get_type() ) ); }
		public function get_type() { return $this->facts['type'] ?? 'shop_order'; }
		private function refunded( $line, $what ) {
			$lines = array_merge( array(), ...array_map( fn( $one ) => array_values( $one->get_items() ), $this->get_refunds() ) );
			return array_sum( array_map( fn( $one ) => $one->facts['of'] === $line ? $one->facts[ $what ] : 0, $lines ) );
		}
		public function get_qty_refunded_for_item( $line ) { return $this->refunded( $line, 'quantity' ); }
		public function get_total_refunded_for_item( $line ) { return -$this->refunded( $line, 'total' ); }
		public function get_tax_refunded_for_item( $line ) { return -$this->refunded( $line, 'total_tax' ); }
		public function get_total() { return $this->facts['total'] ?? array_sum( array_map( fn( $one ) => $one->facts['total'], $this->get_items() ) ); }
		public function get_date_created() { return isset( $this->facts['created'] ) ? new DateTimeImmutable( '@' . $this->facts['created'] ) : null; }
	}
	function wc_get_product( $id ) { return isset( $GLOBALS['posts'][ $id ] ) ? ( $GLOBALS['objects'][ $id ] ?? false ) : false; }
	function wc_get_order( $id ) { return $GLOBALS['objects'][ $id ] ?? false; }
	function wc_get_orders( $query ) {
		$since = (int) ltrim( $query['date_modified'] ?? '>=0', '>=' );
		$found = array_filter( $GLOBALS['objects'], fn( $one ) => isset( $one->facts['items'] )
			&& ( isset( $query['type'] ) ? $query['type'] === $one->get_type() : true )
			&& ( 'shop_order_refund' === $one->get_type() || $one->has_status( $query['status'] ) ) && ( $one->facts['modified'] ?? time() ) >= $since );
		ksort( $found );
		$found = array_values( $found );
		if ( isset( $query['meta_key'] ) ) { $found = array_values( array_filter( $found, fn( $one ) => isset( $one->meta[ $query['meta_key'] ] ) ) ); }
		$page  = array_slice( $found, $query['offset'] ?? ( ( $query['page'] ?? 1 ) - 1 ) * $query['limit'], $query['limit'] );
		return 'ids' === ( $query['return'] ?? '' ) ? array_map( fn( $one ) => $one->get_id(), $page ) : $page;
	}
	function wc_get_order_statuses() { return array_fill_keys( array( 'pending', 'processing', 'on-hold', 'completed', 'cancelled', 'refunded', 'failed' ), 1 ); }
	function wc_get_product_visibility_term_ids() { return array( 'exclude-from-catalog' => 1, 'exclude-from-search' => 2 ); }

	// Taxes: a shop in DE with one rate. As in WooCommerce, nobody else pays it, and without a customer the shop's place counts only by options.
	class WC_Customer {
		public $country = '';
		public $is_exempt = false;
	}
	class Fake_Shop { public $customer = null; }
	$woocommerce = new Fake_Shop();
	function WC() { return $GLOBALS['woocommerce']; }
	function wc_get_price_to_display( $product, $arguments = array() ) {
		$tax   = $GLOBALS['tax'] ?? array( 'rate' => 0, 'is_in_price' => false, 'display' => 'incl' );
		$price = (float) ( $arguments['price'] ?? $product->get_price() );
		$net   = $tax['is_in_price'] ? $price / ( 1 + $tax['rate'] ) : $price;
		$payer = WC()->customer;
		$local = $payer ? 'DE' === $payer->country && ! $payer->is_exempt : $tax['is_in_price'] || 'base' === get_option( 'woocommerce_tax_based_on' );
		$pays  = 'incl' === $tax['display'] && $local;
		return round( $pays ? $net * ( 1 + $tax['rate'] ) : $net, 2 );
	}
	function taxonomy_exists() { return true; }
	function wc_get_product_terms( $id, $taxonomy ) { return $GLOBALS['terms'][ $taxonomy ] ?? array(); }
	function wc_attribute_label( $name ) { return ucfirst( preg_replace( '/^pa_/', '', $name ) ); }
	class Fake_Attribute {
		public function __construct( public $name, public $options, public $visible = true, public $variation = false ) {}
		public function get_variation() { return $this->variation; }
		public function get_name() { return $this->name; }
		public function get_options() { return $this->options; }
		public function get_visible() { return $this->visible; }
		public function is_taxonomy() { return 0 === strpos( $this->name, 'pa_' ); }
	}

	// What tests say.
	function product( $id, $facts = array() ) {
		$GLOBALS['posts'][ $id ]   = array( 'type' => 'product', 'status' => 'publish', 'parent' => 0 );
		$GLOBALS['objects'][ $id ] = new Fake_Object( $facts + array( 'id' => $id, 'name' => "Tent $id", 'price' => '10', 'status' => 'publish', 'stock_status' => 'instock', 'permalink' => "http://shop.example/p/$id" ) );
	}
	function line( $id, $quantity = 1, $total = 10.0, $of = 0, $tax = 0 ) { return new Fake_Object( array( 'id' => 0, 'product_id' => $id, 'quantity' => $quantity, 'total' => $total, 'total_tax' => $tax, 'taxes' => array( 'total' => array( 1 => $tax ) ), 'of' => $of ) ); }
	function refund( $id, $order, $amount, $lines = array() ) {
		order( $id, $lines, array( 'type' => 'shop_order_refund', 'parent_id' => $order, 'amount' => $amount ) );
		do_action( 'woocommerce_order_refunded', $order, $id );
		changed_order( $order );
	}
	function changed_order( $id, $facts = array() ) {
		if ( isset( $GLOBALS['objects'][ $id ] ) ) { $GLOBALS['objects'][ $id ]->facts = $facts + $GLOBALS['objects'][ $id ]->facts; }
		do_action( 'woocommerce_update_order', $id );
		end_request();
	}
	function order( $id, $lines, $facts = array() ) {
		$GLOBALS['objects'][ $id ] = new Fake_Object( $facts + array( 'id' => $id, 'status' => 'processing', 'currency' => 'EUR', 'items' => $lines, 'customer_id' => 0 ) );
		return $GLOBALS['objects'][ $id ];
	}
	function end_request() { do_action( 'shutdown' ); }
	function run_jobs( $most = 30 ) {
		while ( $most-- && ( $due = array_filter( $GLOBALS['jobs'], fn( $job ) => $job[2] <= time() ) ) ) {
			$first = array_key_first( $due );
			unset( $GLOBALS['jobs'][ $first ] );
			do_action( $due[ $first ][0], ...$due[ $first ][1] );
		}
	}
	function later() { foreach ( $GLOBALS['jobs'] as $at => $job ) { if ( 'product_recs_nightly' !== $job[0] ) { $GLOBALS['jobs'][ $at ][2] = 0; } } }
	function work() { for ( $i = 0; $i < 5; $i++ ) { run_jobs(); } }
	function errors() { return array_column( $GLOBALS['options']['product_recs_errors'] ?? array(), 'why' ); }
	function calls( $method, $path ) { return array_values( array_filter( $GLOBALS['calls'], fn( $call ) => $call[0] === $method && 0 === strpos( $call[1], $path ) ) ); }
	function drawn( $hook ) { ob_start(); do_action( $hook ); return ob_get_clean(); }
	function connected( $url, $key, $secret, $settings = array() ) {
		update_option( 'product_recs_secret', $secret );
		preg_match( "/VERSION = '([^']+)'/", file_get_contents( $GLOBALS['plugin'] . '/service-recommender.php' ), $found );
		update_option( 'product_recs_settings', $settings + array( 'version' => $found[1], 'url' => $url, 'key' => $key, 'domain' => 'shop.example', 'connected' => 1 ) );
	}
	function page_of( $user ) {
		$GLOBALS['user'] = $user;
		$tag             = apply_filters( 'script_loader_tag', '<script src="x">', 'product-recs-recs' );
		preg_match( '/data-customer-id="([^"]+)" data-identity="([^"]+)"/', $tag, $found );
		return array( $found[1] ?? '', $found[2] ?? '' );
	}
	function customer_of_page( $user ) { return page_of( $user )[0]; }
	function open_plugin() { require_once $GLOBALS['plugin'] . '/service-recommender.php'; do_action( 'plugins_loaded' ); }
}
