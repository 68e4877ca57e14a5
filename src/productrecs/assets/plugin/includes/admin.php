<?php
/**
 * Settings screen: three values, Connect, progress, switches and health.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/** WooCommerce, Recommendations. */
class Admin {

	const PAGE    = 'product-recs';
	const ACTIONS = array( 'connect', 'save', 'resync', 'test_order', 'dashboard' );

	/** Add the screen and its actions. */
	public static function hooks() {
		add_action( 'admin_menu', guarded( array( __CLASS__, 'menu' ) ), 60 );
		foreach ( self::ACTIONS as $action ) {
			add_action(
				'admin_post_product_recs_' . $action,
				function () use ( $action ) {
					self::act( $action );
				}
			);
		}
		add_action( 'wp_ajax_product_recs_progress', guarded( array( __CLASS__, 'progress' ) ) );
		add_action( 'admin_notices', guarded( array( __CLASS__, 'notice' ) ) );
		add_filter(
			'plugin_action_links_' . plugin_basename( FILE ),
			guarded(
				function ( $links ) {
					array_unshift( $links, '<a href="' . esc_url( self::url() ) . '">' . esc_html__( 'Settings', 'service-recommender' ) . '</a>' );
					return $links;
				}
			)
		);
	}

	/** Add the screen to WooCommerce's menu. */
	public static function menu() {
		add_submenu_page( 'woocommerce', __( 'Recommendations', 'service-recommender' ), __( 'Recommendations', 'service-recommender' ), 'manage_woocommerce', self::PAGE, array( __CLASS__, 'screen' ) );
	}

	/**
	 * Carry out a button of the screen, and return to it.
	 *
	 * @param string $action Which.
	 */
	public static function act( $action ) {
		if ( ! current_user_can( 'manage_woocommerce' ) ) {
			wp_die( esc_html__( 'You may not do this.', 'service-recommender' ), 403 );
		}
		check_admin_referer( 'product_recs_' . $action );
		$posted = array_map( 'sanitize_text_field', wp_unslash( array_filter( $_POST, 'is_string' ) ) );
		try {
			if ( 'connect' === $action ) {
				$said = self::connect( $posted );
			} elseif ( 'save' === $action ) {
				$places = isset( $_POST['places'] ) ? array_map( 'sanitize_key', (array) wp_unslash( $_POST['places'] ) ) : array();
				$said   = self::save( $posted, $places );
			} elseif ( 'resync' === $action ) {
				Sync::begin();
				History::begin();
				$said = '';
			} elseif ( 'dashboard' === $action ) {
				Api::hurry(); // Its new tab shows nothing before the service answers.
				$said = self::open_dashboard();
			} else {
				$said = self::test_order();
			}
		} catch ( \Throwable $error ) {
			record_error( 'settings', $error->getMessage() );
			$said = $error->getMessage();
		}
		set_transient( 'product_recs_said_' . get_current_user_id(), array( $action, $said ), 300 );
		wp_safe_redirect( self::url() );
		exit;
	}

	/**
	 * Connect; a shop that is connected keeps its connection when the new values are refused.
	 *
	 * @param array $posted `url`, `key` and `secret`.
	 * @return string What is wrong and its remedy; empty when connected.
	 */
	public static function connect( array $posted ) {
		$settings = Settings::all();
		$secret   = Settings::stored_secret();
		$said     = self::try_to_connect( $posted );
		if ( '' !== $said && $settings['connected'] ) {
			Settings::change( $settings );
			Settings::keep_secret( $secret );
			$said .= ' ' . __( 'The earlier connection is still in use.', 'service-recommender' );
		}
		return $said;
	}

	/**
	 * Check the address and both keys, tell the service, and start the first sync.
	 *
	 * @param array $posted `url`, `key` and `secret`.
	 * @return string What is wrong and its remedy; empty when connected.
	 */
	private static function try_to_connect( array $posted ) {
		$posted += array(
			'url'    => '',
			'key'    => '',
			'secret' => '',
		);
		$url     = self::clean_url( $posted['url'] );
		if ( '' === $url ) {
			return __( 'Enter the address of your service, such as https://recs.example.com.', 'service-recommender' );
		}
		if ( 0 !== strpos( $posted['key'], 'pk_' ) ) {
			return __( 'The publishable key begins with pk_.', 'service-recommender' );
		}
		$wrong = self::wrong_secret( $url, $posted['secret'] );
		if ( '' !== $wrong ) {
			return $wrong;
		}
		if ( '' !== $posted['secret'] ) {
			Settings::keep_secret( $posted['secret'] );
		}
		Settings::change(
			array(
				'url' => $url,
				'key' => $posted['key'],
			)
		);
		$reply = Api::call(
			'POST',
			'/integration/connect',
			array(
				'platform'        => 'woocommerce',
				'plugin_version'  => VERSION,
				'store_url'       => home_url( '/' ),
				'publishable_key' => $posted['key'],
			)
		);
		if ( ! $reply->ok() || empty( $reply->json['domain'] ) ) {
			return $reply->remedy();
		}
		$domain = (string) $reply->json['domain'];
		$reply  = Sync::tell_currency();
		if ( ! $reply->ok() ) {
			return $reply->remedy();
		}
		Settings::change(
			array(
				'domain'    => $domain,
				'connected' => time(),
				'version'   => VERSION,
			)
		);
		delete_option( 'product_recs_errors' );
		Outbox::install();
		Sync::begin();
		History::begin();
		Queue::schedule_nightly();
		return '';
	}

	/**
	 * Return what is wrong with an entered secret key, for an address.
	 *
	 * The stored key, or that of wp-config.php, goes to no other server than it was entered for:
	 * whoever may change the address may not read the key in this way.
	 *
	 * @param string $url    The entered address.
	 * @param string $secret The entered key; empty for the one that is there.
	 * @return string Empty when it may be used.
	 */
	private static function wrong_secret( $url, $secret ) {
		if ( '' === $secret ) {
			$is_usable = Settings::has_secret() && self::clean_url( Settings::trusted_url() ) === $url;
			return $is_usable ? '' : __( 'Enter the secret key: a new address needs it again.', 'service-recommender' );
		}
		if ( 0 !== strpos( $secret, 'sk_' ) ) {
			return __( 'The secret key begins with sk_.', 'service-recommender' );
		}
		if ( defined( 'PRODUCT_RECS_SECRET' ) && ! hash_equals( (string) PRODUCT_RECS_SECRET, $secret ) ) {
			return __( 'wp-config.php has another secret key. Enter that one, or remove it there.', 'service-recommender' );
		}
		return '';
	}

	/**
	 * Store the switches.
	 *
	 * @param array $posted Texts of the form.
	 * @param array $places Places that are on.
	 * @return string Always empty.
	 */
	public static function save( array $posted, array $places ) {
		$changes = array(
			'places'   => array_values( array_intersect( array_keys( self::place_names() ), $places ) ),
			'selector' => isset( $posted['selector'] ) ? $posted['selector'] : '',
		);
		foreach ( array_keys( self::switches() ) as $name ) {
			$changes[ $name ] = empty( $posted[ $name ] ) ? 0 : 1;
		}
		foreach ( array_keys( self::place_names() ) as $name ) {
			$chosen = isset( $posted[ 'position_' . $name ] ) ? $posted[ 'position_' . $name ] : '';
			if ( isset( self::position_names( $name )[ $chosen ] ) ) {
				$changes['positions'][ $name ] = $chosen;
			}
		}
		Settings::change( $changes );
		return '';
	}

	/**
	 * Deliver the latest paid order, if the service does not have it as it is now.
	 *
	 * @return string What is wrong; empty when the service answered.
	 */
	private static function test_order() {
		$orders = wc_get_orders(
			array(
				'type'   => 'shop_order',
				'status' => Orders::STATUSES,
				'limit'  => 20,
			)
		);
		foreach ( $orders as $order ) {
			if ( Orders::body( $order )['items'] ) { // Lines of deleted products are left out.
				Outbox::add( array( $order->get_id() ) );
				return false === Order_Delivery::deliver() ? (string) get_option( 'product_recs_errors' )[0]['why'] : '';
			}
		}
		return __( 'There is no paid order yet. Place one, then try again.', 'service-recommender' );
	}

	/**
	 * Sign the merchant into the dashboard, by a link that works once.
	 *
	 * @return string What is wrong; otherwise the request ends in the dashboard.
	 */
	private static function open_dashboard() {
		$reply = Api::call( 'POST', '/integration/dashboard-link', array( 'email' => wp_get_current_user()->user_email ) );
		if ( $reply->ok() && empty( $reply->json['signs_in'] ) && current_user_can( 'manage_options' ) ) {
			$reply = Api::call( 'POST', '/integration/dashboard-link' ); // The owner's login, for an editor's work.
		}
		$link = isset( $reply->json['path'] ) ? (string) $reply->json['path'] : '';
		if ( ! $reply->ok() || 0 !== strpos( $link, '/dashboard' ) ) {
			return $reply->remedy();
		}
		wp_redirect( Settings::get( 'url' ) . $link ); // phpcs:ignore WordPress.Security.SafeRedirect -- the merchant's own service.
		exit;
	}

	/** AJAX: do the next step of the first sync, and tell how far it is. */
	public static function progress() {
		check_ajax_referer( 'product_recs_progress' );
		if ( ! current_user_can( 'manage_woocommerce' ) ) {
			wp_send_json_error( null, 403 );
		}
		// The queue does the same work; this way it goes on where WP-Cron never runs.
		if ( 'running' === Sync::state()['state'] ) {
			Sync::step();
		} else {
			History::job();
			Order_Delivery::deliver();
		}
		$shown = array();
		foreach ( array( Sync::state(), History::state() ) as $state ) {
			$shown[] = array(
				'state' => $state['state'],
				'done'  => $state['done'],
				'total' => max( $state['done'], $state['total'] ),
			);
		}
		$errors = get_option( 'product_recs_errors', array() );
		wp_send_json_success(
			array(
				'products' => $shown[0],
				'orders'   => $shown[1],
				'error'    => $errors ? $errors[0]['why'] : '',
			)
		);
	}

	/** Draw the screen. */
	public static function screen() {
		if ( ! current_user_can( 'manage_woocommerce' ) ) {
			return;
		}
		$said = get_transient( 'product_recs_said_' . get_current_user_id() );
		delete_transient( 'product_recs_said_' . get_current_user_id() );
		Panels::load_script();
		echo '<div class="wrap"><h1>' . esc_html__( 'Recommendations', 'service-recommender' ) . '</h1>';
		if ( is_array( $said ) ) {
			$is_ok = '' === $said[1];
			echo '<div class="notice is-dismissible ' . ( $is_ok ? 'notice-success' : 'notice-error' ) . '"><p>' . esc_html( $is_ok ? self::success_of( $said[0] ) : $said[1] ) . '</p></div>';
		}
		if ( Settings::connected() ) {
			/* translators: 1: domain of the store, 2: address of the service. */
			echo '<p>' . esc_html( sprintf( __( 'Connected to the store %1$s at %2$s.', 'service-recommender' ), Settings::get( 'domain' ), Settings::get( 'url' ) ) ) . '</p>';
			self::draw_progress();
			self::draw_switches();
			echo '<h2>' . esc_html__( 'Health', 'service-recommender' ) . '</h2>';
			Panels::draw();
			echo '<details><summary class="button">' . esc_html__( 'Change the connection', 'service-recommender' ) . '</summary>';
			self::draw_connection();
			echo '</details>';
		} else {
			echo '<p>' . esc_html__( 'Enter the address of your ProductRecs service and its two keys. Your products and past orders are then sent, which takes a few minutes, and recommendations appear on product pages, in the cart and after an order. Nothing is sent before you press Connect.', 'service-recommender' ) . '</p>';
			self::draw_connection();
		}
		echo '</div>';
	}

	/**
	 * Return what to say after an action that succeeded.
	 *
	 * @param string $action Which.
	 * @return string
	 */
	private static function success_of( $action ) {
		$texts = array(
			'connect'    => __( 'Connected. Your products and past orders are being sent; you may leave this page.', 'service-recommender' ),
			'save'       => __( 'Saved.', 'service-recommender' ),
			'resync'     => __( 'The products and orders are being sent again.', 'service-recommender' ),
			'test_order' => __( 'The service answered for the last order. It counts once.', 'service-recommender' ),
		);
		return isset( $texts[ $action ] ) ? $texts[ $action ] : '';
	}

	/**
	 * Print the beginning of a form.
	 *
	 * @param string $action     Which of the actions.
	 * @param string $attributes More attributes, as HTML of this file.
	 */
	public static function form( $action, $attributes = '' ) {
		echo '<form method="post" action="' . esc_url( admin_url( 'admin-post.php' ) ) . '"' . $attributes . '>'; // phpcs:ignore WordPress.Security.EscapeOutput -- written here.
		echo '<input type="hidden" name="action" value="' . esc_attr( 'product_recs_' . $action ) . '">';
		wp_nonce_field( 'product_recs_' . $action );
	}

	/**
	 * Print the beginning of a form whose action asks the service: the page sends it, and stays usable.
	 *
	 * @param string $action Which of the actions.
	 */
	public static function waiting_form( $action ) {
		self::form( $action, ' data-waiting="' . esc_attr__( 'Asking the service…', 'service-recommender' ) . '"' );
	}

	/** Draw the three values and Connect. */
	private static function draw_connection() {
		$fields = array(
			'url'    => array( __( 'Address of the service', 'service-recommender' ), 'text', Settings::get( 'url' ), 'https://recs.example.com', '' ),
			'key'    => array( __( 'Publishable key', 'service-recommender' ), 'text', Settings::get( 'key' ), 'pk_...', __( 'It was shown when the store was registered, and is in the dashboard under "Keys and plan".', 'service-recommender' ) ),
			'secret' => array( __( 'Secret key', 'service-recommender' ), 'password', '', Settings::has_secret() ? Settings::masked_secret() : 'sk_...', __( 'It was shown once, when the store was registered. The dashboard makes another under "Keys and plan".', 'service-recommender' ) ),
		);
		if ( Settings::connected() ) {
			$fields['secret'][4] = __( 'Leave it empty to keep the key at the same address.', 'service-recommender' );
		}
		echo '<h2>' . esc_html__( 'Connection', 'service-recommender' ) . '</h2>';
		self::waiting_form( 'connect' );
		echo '<table class="form-table" role="presentation">';
		foreach ( $fields as $name => $field ) {
			echo '<tr><th scope="row"><label for="pr-' . esc_attr( $name ) . '">' . esc_html( $field[0] ) . '</label></th><td>';
			echo '<input class="regular-text" autocomplete="off" spellcheck="false" id="pr-' . esc_attr( $name ) . '" name="' . esc_attr( $name ) . '" type="' . esc_attr( $field[1] ) . '" value="' . esc_attr( $field[2] ) . '" placeholder="' . esc_attr( $field[3] ) . '">';
			echo ( '' === $field[4] ? '' : '<p class="description">' . esc_html( $field[4] ) . '</p>' ) . '</td></tr>';
		}
		echo '</table>';
		submit_button( Settings::connected() ? __( 'Connect again', 'service-recommender' ) : __( 'Connect', 'service-recommender' ) );
		echo '</form>';
	}

	/** Draw the progress of products and orders. */
	private static function draw_progress() {
		$rows = array(
			'products' => array( __( 'Products', 'service-recommender' ), Sync::state() ),
			'orders'   => array( __( 'Past orders', 'service-recommender' ), History::state() ),
		);
		echo '<div id="pr-progress" data-url="' . esc_url( admin_url( 'admin-ajax.php' ) ) . '" data-nonce="' . esc_attr( wp_create_nonce( 'product_recs_progress' ) ) . '">';
		foreach ( $rows as $name => $row ) {
			$state = $row[1];
			$total = max( 1, $state['total'], $state['done'] );
			echo '<p><label><span style="display:inline-block;min-width:9em">' . esc_html( $row[0] ) . '</span> <progress data-name="' . esc_attr( $name ) . '" data-state="' . esc_attr( $state['state'] ) . '" max="' . esc_attr( $total ) . '" value="' . esc_attr( 'done' === $state['state'] ? $total : $state['done'] ) . '"></progress></label> <span class="pr-count">' . esc_html( $state['done'] . ' / ' . max( $state['total'], $state['done'] ) ) . '</span></p>';
		}
		echo '<p class="pr-error" role="status"></p></div>';
		$products = wc_get_products(
			array(
				'limit'  => 1,
				'status' => 'publish',
			)
		);
		echo '<div style="display:flex;flex-wrap:wrap;gap:8px;margin-block:1em">';
		if ( $products ) {
			echo '<a class="button button-primary" href="' . esc_url( $products[0]->get_permalink() ) . '">' . esc_html__( 'Open a product page', 'service-recommender' ) . '</a>';
		}
		self::form( 'dashboard', ' target="_blank"' );
		submit_button( __( 'Open the dashboard', 'service-recommender' ), 'secondary', 'submit', false );
		echo '</form></div>';
	}

	/** Draw the places and the switches. */
	private static function draw_switches() {
		echo '<h2>' . esc_html__( 'On your pages', 'service-recommender' ) . '</h2>';
		self::form( 'save' );
		echo '<table class="form-table" role="presentation"><tr><th scope="row">' . esc_html__( 'Recommendations', 'service-recommender' ) . '</th><td>';
		$on = Placements::places();
		foreach ( self::place_names() as $name => $label ) {
			echo '<p><label><input type="checkbox" name="places[]" value="' . esc_attr( $name ) . '"' . checked( isset( $on[ $name ] ), true, false ) . '> ' . esc_html( $label ) . '</label>';
			$options = self::position_names( $name );
			if ( $options ) {
				echo ' <select name="position_' . esc_attr( $name ) . '" aria-label="' . esc_attr( $label ) . '">';
				foreach ( $options as $position => $option ) {
					echo '<option value="' . esc_attr( $position ) . '"' . selected( Placements::position( $name ), $position, false ) . '>' . esc_html( $option ) . '</option>';
				}
				echo '</select>';
			}
			echo '</p>';
		}
		echo '</td></tr><tr><th scope="row">' . esc_html__( 'More', 'service-recommender' ) . '</th><td>';
		foreach ( self::switches() as $name => $label ) {
			echo '<p><label><input type="checkbox" name="' . esc_attr( $name ) . '" value="1"' . checked( (bool) Settings::get( $name ), true, false ) . '> ' . esc_html( $label ) . '</label></p>';
		}
		echo '</td></tr><tr><th scope="row"><label for="pr-selector">' . esc_html__( 'CSS selector of the search box', 'service-recommender' ) . '</label></th><td>';
		echo '<input class="regular-text" id="pr-selector" name="selector" type="text" value="' . esc_attr( Settings::get( 'selector' ) ) . '" placeholder="input[type=search]"> ';
		echo '<button type="button" class="button" id="pr-pick" data-shop="' . esc_url( add_query_arg( 'product_recs_pick', '1', home_url( '/' ) ) ) . '">' . esc_html__( 'Pick it in the shop', 'service-recommender' ) . '</button>';
		echo '<p class="description">' . esc_html__( 'Leave it empty to find the box by itself.', 'service-recommender' ) . '</p></td></tr></table>';
		submit_button( __( 'Save', 'service-recommender' ) );
		echo '</form>';
	}

	/**
	 * Return the places by name.
	 *
	 * @return array
	 */
	private static function place_names() {
		return array(
			'product'  => __( 'Product page: you may also like', 'service-recommender' ),
			'together' => __( 'Product page: bought together', 'service-recommender' ),
			'cart'     => __( 'Cart', 'service-recommender' ),
			'thanks'   => __( 'Page after an order', 'service-recommender' ),
			'shop'     => __( 'Shop and categories: popular products', 'service-recommender' ),
			'home'     => __( 'Front page: popular products', 'service-recommender' ),
		);
	}

	/**
	 * Return the positions that a place can have, by name; those of "product" hold for both.
	 *
	 * @param string $place Which.
	 * @return array
	 */
	private static function position_names( $place ) {
		$names = array(
			'product' => array(
				'above' => __( 'above the description', 'service-recommender' ),
				'below' => __( 'below the description', 'service-recommender' ),
				'end'   => __( 'below the related products', 'service-recommender' ),
			),
			'cart'    => array(
				'above' => __( 'above the cart', 'service-recommender' ),
				'below' => __( 'below the cart', 'service-recommender' ),
			),
			'thanks'  => array(
				'above' => __( 'above the order', 'service-recommender' ),
				'below' => __( 'below the order', 'service-recommender' ),
			),
			'shop'    => array(
				'above' => __( 'above the products', 'service-recommender' ),
				'below' => __( 'below the products', 'service-recommender' ),
			),
			'home'    => array(
				'above' => __( 'above the content', 'service-recommender' ),
				'below' => __( 'below the content', 'service-recommender' ),
			),
		);
		return isset( $names[ $place ] ) ? $names[ $place ] : array();
	}

	/**
	 * Return the switches by name.
	 *
	 * @return array
	 */
	private static function switches() {
		return array(
			'search'     => __( 'Suggestions in the search box, and search by photo', 'service-recommender' ),
			'look'       => __( 'Shop the look on product pages', 'service-recommender' ),
			'assistants' => __( 'Tell shopping assistants where your catalog is, once the dashboard lets them search it', 'service-recommender' ),
			'consent'    => __( 'Wait for consent before anything about a shopper is stored or sent', 'service-recommender' ),
			'on_hold'    => __( 'Count orders that wait for a bank transfer', 'service-recommender' ),
			'order_tax'  => __( 'Send order prices with tax where your pages show prices with tax', 'service-recommender' ),
			'meta'       => __( 'Remove what this plugin stored with orders when it is uninstalled', 'service-recommender' ),
		);
	}

	/** After the activation: show where to go on, until the shop is connected. */
	public static function notice() {
		$screen = get_current_screen();
		if ( Settings::connected() || ! current_user_can( 'manage_woocommerce' ) || ! $screen || ! in_array( $screen->id, array( 'plugins', 'dashboard' ), true ) ) {
			return;
		}
		echo '<div class="notice notice-info"><p>' . esc_html__( 'ProductRecs is active, but not connected yet.', 'service-recommender' ) . ' <a href="' . esc_url( self::url() ) . '">' . esc_html__( 'Connect your shop', 'service-recommender' ) . '</a></p></div>';
	}

	/**
	 * Return the address of the screen.
	 *
	 * @return string
	 */
	private static function url() {
		return admin_url( 'admin.php?page=' . self::PAGE );
	}

	/**
	 * Return scheme, host and port of an address; empty when it is none.
	 *
	 * @param string $entered As entered.
	 * @return string
	 */
	private static function clean_url( $entered ) {
		$entered = strtolower( trim( $entered ) );
		$parts   = wp_parse_url( false === strpos( $entered, '://' ) ? 'https://' . $entered : $entered );
		if ( empty( $parts['host'] ) || ! in_array( $parts['scheme'], array( 'http', 'https' ), true ) ) {
			return '';
		}
		return $parts['scheme'] . '://' . $parts['host'] . ( empty( $parts['port'] ) ? '' : ':' . $parts['port'] );
	}
}
