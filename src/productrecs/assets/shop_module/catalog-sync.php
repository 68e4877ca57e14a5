<?php
/**
 * Catalog sync: pushes changed products, all products in pages, and deletes what the shop lacks.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'PRODUCT_RECS_SHOP' ) || exit;

/** What is told of products, at once and each night. */
class Catalog_Sync {

	const PAGE = 200;  // products of one push.
	const IDS  = 1000; // of a page of the service's list.
	const NONE = array(
		'state'  => 'none',
		'after'  => 0,
		'cursor' => '',
		'done'   => 0,
		'total'  => 0,
		'begun'  => 0,
		'ended'  => 0,
		'gone'   => 0,
	);

	/**
	 * The shop.
	 *
	 * @var Shop
	 */
	private $shop;

	/**
	 * The merchant's settings.
	 *
	 * @var Settings
	 */
	private $settings;

	/**
	 * What has to be told.
	 *
	 * @var Work_List
	 */
	private $list;

	/**
	 * Store what it works with.
	 *
	 * @param Shop      $shop     The shop.
	 * @param Settings  $settings The merchant's settings.
	 * @param Work_List $list     What has to be told.
	 */
	public function __construct( Shop $shop, Settings $settings, Work_List $list ) {
		$this->shop     = $shop;
		$this->settings = $settings;
		$this->list     = $list;
	}

	/** Begin a full sync; one that runs is left behind. */
	public function begin() {
		$this->settings->put(
			'sync',
			array(
				'state' => 'pushing',
				'total' => $this->shop->product_count(),
				'begun' => time(),
			) + self::NONE
		);
	}

	/**
	 * Return where the full sync is.
	 *
	 * @return array
	 */
	public function state() {
		return (array) $this->settings->value( 'sync', array() ) + self::NONE;
	}

	/**
	 * Return whether a full sync runs.
	 *
	 * @return bool
	 */
	public function is_running() {
		return in_array( $this->state()['state'], array( 'pushing', 'comparing' ), true );
	}

	/**
	 * Tell the service the shop's address, its currency and how it writes prices.
	 *
	 * @return Reply
	 */
	public function tell_shop() {
		$told  = array(
			'store_url' => $this->shop->home(),
			'currency'  => $this->shop->currency(),
		);
		$price = $this->shop->price_example();
		if ( preg_match( '/1\D?234(?:\D0+)?(?!\d)/u', $price ) && preg_match( '/^.{0,40}$/us', $price ) ) {
			$told['price_format'] = $price; // Widgets write others as the page's language does.
		}
		return $this->settings->client()->call( 'POST', '/integration/engines/init', $told );
	}

	/**
	 * Push the next changed products.
	 *
	 * @return bool|null False when the service did not answer; null when nothing is due.
	 */
	public function push_changed() {
		$rows = $this->list->next( Work_List::PRODUCT, false, self::PAGE );
		if ( ! $rows ) {
			return null;
		}
		if ( ! $this->push( array_map( 'intval', array_column( $rows, 'id' ) ) ) ) {
			return false;
		}
		$known = $this->list->known_products( array_column( $rows, 'id' ) );
		foreach ( $rows as $row ) {
			$this->list->done( $row, in_array( (int) $row['id'], $known, true ) ? '1' : null );
		}
		return true;
	}

	/**
	 * Make the next step of the full sync: push a page, then compare with the service's list.
	 *
	 * @return bool|null False when the service did not answer; null when none runs.
	 */
	public function step() {
		$state = $this->state();
		if ( 'pushing' === $state['state'] ) {
			$state = $this->push_page( $state );
		} elseif ( 'comparing' === $state['state'] ) {
			$state = $this->compare( $state );
		} else {
			return null;
		}
		if ( ! $state ) {
			return false;
		}
		if ( $state['begun'] === $this->state()['begun'] ) { // Nobody pressed "Sync again" meanwhile.
			$this->settings->put( 'sync', $state );
		}
		return true;
	}

	/**
	 * Push the next page of products.
	 *
	 * @param array $state Where the full sync is.
	 * @return array|null Where it is then; null when the service does not answer.
	 */
	private function push_page( array $state ) {
		if ( 0 === $state['after'] && ! $this->tell_shop()->ok() ) {
			return null;
		}
		$ids = $this->shop->product_ids( $state['after'], self::PAGE );
		if ( $ids ) {
			if ( ! $this->push( $ids ) ) {
				return null; // The same page comes again.
			}
			$state['after'] = max( $ids );
			$state['done'] += count( $ids );
		}
		if ( count( $ids ) < self::PAGE ) {
			$state['state'] = 'comparing';
		}
		return $state;
	}

	/**
	 * Delete of the next page of the service's list what shoppers cannot see in the shop.
	 *
	 * Ids that are no numbers are no products of this shop system: somebody else pushed them.
	 *
	 * @param array $state Where the full sync is.
	 * @return array|null Where it is then; null when the service does not answer.
	 */
	private function compare( array $state ) {
		$reply = $this->settings->client()->call( 'GET', '/v1/items?fields=id&limit=' . self::IDS . ( '' === $state['cursor'] ? '' : '&cursor=' . rawurlencode( $state['cursor'] ) ) );
		if ( ! $reply->ok() || ! isset( $reply->json['items'] ) ) {
			$this->settings->record_error( 'products', $reply->remedy() );
			return null;
		}
		$ids  = array_map( 'intval', preg_grep( '/^[1-9]\d{0,9}$/', $reply->json['items'] ) );
		$gone = array_keys( array_filter( $this->shop->items( array_values( $ids ) ), 'is_null' ) );
		foreach ( $gone as $id ) {
			if ( ! $this->delete( $id ) ) {
				return null;
			}
		}
		$state['gone']  += count( $gone );
		$state['cursor'] = (string) $reply->json['next'];
		if ( '' === $state['cursor'] ) {
			$state['state'] = 'done';
			$state['ended'] = time();
		}
		return $state;
	}

	/**
	 * Push products as they are now; what shoppers cannot see is deleted.
	 *
	 * @param array $ids Ids of products.
	 * @return bool False when the service did not answer.
	 */
	private function push( array $ids ) {
		$items = array();
		foreach ( $this->shop->items( $ids ) as $id => $item ) {
			if ( null !== $item ) {
				$items[] = $item;
			} elseif ( ! $this->delete( $id ) ) {
				return false;
			}
		}
		return $this->send( $items );
	}

	/**
	 * Delete a product in the service.
	 *
	 * @param int $id The product.
	 * @return bool False when the service did not answer.
	 */
	private function delete( $id ) {
		$reply = $this->settings->client()->call( 'DELETE', '/v1/items/' . rawurlencode( (string) $id ) );
		if ( $reply->retryable() && 'item_unknown' !== $reply->code() ) {
			$this->settings->record_error( 'product ' . $id, $reply->remedy() );
			return false;
		}
		$this->list->forget_product( $id );
		return true;
	}

	/**
	 * Send items in one push; an item that is refused does not hold up the others.
	 *
	 * @param array $items The items.
	 * @return bool False when the service did not answer.
	 */
	private function send( array $items ) {
		if ( ! $items ) {
			return true;
		}
		$reply = $this->settings->client()->call( 'POST', '/v1/items', array( 'items' => $items ) );
		if ( $reply->ok() && $reply->json ) {
			$this->list->tell_products( array_column( $items, 'id' ) );
			return true;
		}
		if ( 422 === $reply->status ) {
			return $this->send_valid( $items, $reply );
		}
		$this->settings->record_error( 'products', $reply->remedy() );
		if ( 'plan_limit_catalog' === $reply->code() ) {
			$ids   = $this->list->known_products( array_column( $items, 'id' ) );
			$known = array();
			foreach ( $items as $item ) {
				if ( in_array( (int) $item['id'], $ids, true ) ) {
					$known[] = $item;
				}
			}
			return count( $known ) === count( $items ) || $this->send( $known );
		}
		return ! $reply->retryable();
	}

	/**
	 * Send what the service did not refuse of a push that it refused with 422.
	 *
	 * @param array $items The items.
	 * @param Reply $reply The refusal.
	 * @return bool False when the service did not answer.
	 */
	private function send_valid( array $items, Reply $reply ) {
		$valid = $items;
		foreach ( isset( $reply->json['detail'] ) ? (array) $reply->json['detail'] : array() as $problem ) {
			$place = isset( $problem['loc'][2] ) && is_numeric( $problem['loc'][2] ) ? (int) $problem['loc'][2] : -1;
			if ( isset( $valid[ $place ] ) ) {
				$this->settings->record_error( 'product ' . $valid[ $place ]['id'], (string) $problem['msg'] );
				unset( $valid[ $place ] );
			}
		}
		if ( count( $valid ) === count( $items ) ) {
			$this->settings->record_error( 'products', $reply->remedy() );
			return true;
		}
		return $this->send( array_values( $valid ) );
	}
}
