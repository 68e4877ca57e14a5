// Names that nobody else has: letters and digits, drawn without preference.

const LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const FAIR = 256 - (256 % LETTERS.length);

/** Returns `length` letters and digits; 24 of them are 142 bits. */
export function randomName(length: number): string {
  let name = "";
  while (name.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length))) {
      if (byte < FAIR && name.length < length) name += LETTERS[byte % LETTERS.length];
    }
  }
  return name;
}
