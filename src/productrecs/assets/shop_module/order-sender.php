<?php
/**
 * Order sender: tells the service of the orders in the work list, in their order.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'PRODUCT_RECS_SHOP' ) || exit;

/** An order is sent once; later changes send what is left of its lines. */
class Order_Sender {

	const MOST  = 100; // lines of one call.
	const BATCH = 250; // orders of one file.

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

	/**
	 * Tell the service of the next orders: new ones by calls, changes and past orders in one file.
	 *
	 * @param bool  $is_past Whether past orders, which the service is told again, or the others.
	 * @param float $until   When to stop.
	 * @return bool|null False when it did not answer; null when nothing is due.
	 */
	public function step( $is_past, $until ) {
		$rows  = $this->list->next( Work_List::ORDER, $is_past, self::BATCH );
		$lines = array();
		$after = array();
		$is_up = true;
		foreach ( $rows as $row ) {
			if ( microtime( true ) >= $until ) {
				break;
			}
			$order = $this->order( $row );
			$left  = Order_Lines::sums( $order && $order['is_sellable'] ? $order['body'] : array() );
			$told  = null === $row['told'] ? null : (array) json_decode( $row['told'], true );
			if ( null === $told && $left && ! $is_past ) {
				$told = $this->first( $order, $left );
				if ( false === $told ) {
					$is_up = false; // None overtakes another: all wait.
					break;
				}
				if ( null !== $told ) {
					$this->list->told_first( $row, self::text( $told ) );
				}
			}
			if ( null === $told && ! ( $is_past && $left ) ) {
				$this->list->done( $row, null ); // Not paid, refused, or gone before it was told.
				continue;
			}
			$change = Order_Lines::changes( (array) $told, $left, $is_past );
			if ( $change ) {
				$lines   = array_merge( $lines, Order_Lines::rows( array( 'order_id' => (string) $row['id'] ) + ( $order ? $order['body'] : array() ), $change ) );
				$after[] = array( $row, self::text( $change + (array) $told ) );
			} else {
				$this->list->done( $row, self::text( (array) $told ) );
			}
		}
		if ( $lines && ! $this->upload( $lines ) ) {
			return false;
		}
		foreach ( $after as $one ) {
			$this->list->done( $one[0], $one[1] );
		}
		return $is_up ? ( $rows ? true : null ) : false;
	}

	/**
	 * Return an order with the shopper who was stored with it.
	 *
	 * @param array $row Of the work list.
	 * @return array|null
	 */
	private function order( array $row ) {
		$order = $this->shop->order( (int) $row['id'] );
		if ( ! $order ) {
			return null;
		}
		$may      = ! $this->settings->get( 'consent' ) && ! $this->shop->asks_for_consent();
		$customer = null === $row['customer'] ? ( $may ? $order['customer'] : 0 ) : (int) $row['customer'];
		$id       = Identity::id( $customer, $this->settings->id_secret() );

		$order['body']['order_id']   = (string) $row['id'];
		$order['body']['user_id']    = '' === $id ? null : $id;
		$order['body']['session_id'] = '' === (string) $row['session'] ? null : $row['session'];
		$order['body']['ordered_at'] = gmdate( 'Y-m-d\TH:i:s\Z', $order['created'] );
		return $order;
	}

	/**
	 * Tell the service of an order for the first time.
	 *
	 * @param array $order The order.
	 * @param array $left  Its units and totals.
	 * @return array|null|false What the service knows now; null: it refuses it; false: it did not answer.
	 */
	private function first( array $order, array $left ) {
		$body = $order['body'];
		$age  = time() - $order['created'];
		if ( $age > 6 * Identity::DAY ) {
			$known = $this->ask( $body['order_id'] ); // After seven days a repeat would count twice.
			if ( null !== $known ) {
				return $known;
			}
		}
		if ( $age > 29 * Identity::DAY ) {
			return array(); // A file takes older ones.
		}
		if ( $age < 300 ) {
			unset( $body['ordered_at'] ); // The service's own clock knows.
		}
		usort(
			$body['items'],
			function ( $one, $other ) {
				return $other['total'] <=> $one['total'];
			}
		);
		$body['items'] = array_slice( $body['items'], 0, self::MOST ); // The others follow in a file.
		$reply         = $this->settings->client()->call( 'POST', '/v1/orders', $body );
		if ( 422 === $reply->status && isset( $body['ordered_at'] ) && 'ordered_at' === $reply->problem_field() ) {
			unset( $body['ordered_at'] ); // The shop's clock is ahead.
			$reply = $this->settings->client()->call( 'POST', '/v1/orders', $body );
		}
		if ( $reply->ok() && ! empty( $reply->json['ok'] ) ) {
			$known = empty( $reply->json['duplicate'] ) ? null : $this->ask( $body['order_id'] );
			return null === $known ? Order_Lines::sums( $body ) : $known;
		}
		$this->settings->record_error( 'order ' . $body['order_id'], $reply->remedy() );
		return in_array( $reply->status, array( 400, 413, 415, 422 ), true ) ? null : false;
	}

	/**
	 * Ask the service what it knows of an order.
	 *
	 * @param string $order_id The order.
	 * @return array|null|false Units and totals; null: it does not know it; false: no answer.
	 */
	private function ask( $order_id ) {
		$reply = $this->settings->client()->call( 'GET', '/v1/orders/' . rawurlencode( $order_id ) );
		if ( $reply->ok() && isset( $reply->json['items'] ) ) {
			return Order_Lines::sums( $reply->json );
		}
		if ( 'order_unknown' === $reply->code() ) {
			return null;
		}
		$this->settings->record_error( 'order ' . $order_id, $reply->remedy() );
		return false;
	}

	/**
	 * Send a file of order lines.
	 *
	 * @param array $rows The rows.
	 * @return bool
	 */
	private function upload( array $rows ) {
		$reply = $this->settings->client()->upload( Order_Lines::csv( $rows ) );
		if ( $reply->ok() && $reply->json ) {
			return true;
		}
		$this->settings->record_error( 'orders', $reply->remedy() );
		return false;
	}

	/**
	 * Return what was told as a text.
	 *
	 * @param array $told Units and totals by product.
	 * @return string
	 */
	private static function text( array $told ) {
		return (string) json_encode( (object) $told );
	}
}
