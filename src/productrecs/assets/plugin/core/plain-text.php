<?php
/**
 * Plain text: what a shopper reads of a text that may have HTML in it.
 *
 * Part of the core that the shop systems' archives share: nothing here is WordPress's own.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'PRODUCT_RECS_SHOP' ) || defined( 'ABSPATH' ) || exit;

/** Removes tags as a browser reads them. */
class Plain_Text {

	const BLOCKS = 'address|article|aside|blockquote|br|caption|dd|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]|header|hr|li|main|nav|ol|option|p|pre|section|table|tbody|td|tfoot|th|thead|tr|ul';

	/**
	 * Return the text of HTML; each block begins a line.
	 *
	 * @param string $html The HTML.
	 * @return string
	 */
	public static function of( $html ) {
		$steps = array(
			'#<(script|style)\b[^>]*>.*?</\1\s*>#is'   => '',
			'#<(?![a-z!?]|/[a-z])#i'                   => '&lt;', // Of no tag: "I <3 cats".
			'#(?=</?(?:' . self::BLOCKS . ')[\s/>])#i' => "\n",   // Words of two blocks stay apart.
		);
		$text  = strip_tags( preg_replace( array_keys( $steps ), $steps, $html ) ); // phpcs:ignore WordPress.WP.AlternativeFunctions -- WordPress's own joins the words of two blocks.
		$text  = html_entity_decode( $text, ENT_QUOTES, 'UTF-8' );
		return trim( preg_replace( array( '/[ \t\r\f]+/', '/ ?\n\s*/' ), array( ' ', "\n" ), $text ) );
	}

	/**
	 * Return the text of HTML as one line.
	 *
	 * @param string $html The HTML.
	 * @return string
	 */
	public static function line( $html ) {
		return str_replace( "\n", ' ', self::of( $html ) );
	}
}
