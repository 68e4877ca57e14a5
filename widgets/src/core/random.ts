// Random ids of letters and digits, uniformly distributed.

/** Returns `length` letters and digits; 24 of them have 142 bits. */
export function randomName(length: number): string {
  // Two of the 64 characters of base64 are neither letters nor digits; dropping them keeps the
  // rest uniform. Four random characters for each wanted one are always enough.
  const bytes = crypto.getRandomValues(new Uint8Array(3 * length));
  return btoa(String.fromCharCode(...bytes)).replace(/\W/g, "").slice(0, length);
}
