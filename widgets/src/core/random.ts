// Names that nobody else has: letters and digits, drawn without preference.

/** Returns `length` letters and digits; 24 of them are 142 bits. */
export function randomName(length: number): string {
  // Of the 64 signs of base64 two are no letters or digits; the others stay equally likely,
  // and of four for each that is wanted there are always enough.
  const bytes = crypto.getRandomValues(new Uint8Array(3 * length));
  return btoa(String.fromCharCode(...bytes)).replace(/\W/g, "").slice(0, length);
}
