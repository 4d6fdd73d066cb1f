/** Something that must turn up nowhere, in all the ways in which it could be written. */
export interface Needle {
  readonly name: string;
  readonly texts: readonly string[];
  /** Compared without case. */
  readonly hex: readonly string[];
}

/**
 * A needle for a secret. `core` is the part of it that is nobody's to know: a hint that shows both ends is none, and any
 * text that holds the secret holds the core.
 */
export function needleOf(name: string, core: string, bytes: Uint8Array = Buffer.from(core)): Needle {
  const plain = Buffer.from(core);
  const texts = [core, encodeURIComponent(core), ...base64In(plain), ...base64In(bytes)];
  return {
    name,
    texts: [...new Set(texts.flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]))],
    hex: [...new Set([plain.toString('hex'), Buffer.from(bytes).toString('hex')])],
  };
}

/** How bytes look inside of base64 of something longer: by where they begin in a group of three. */
function base64In(bytes: Uint8Array): string[] {
  return [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    // The first and the last characters depend on what stands next to them.
    return text.slice(before === 0 ? 0 : 4, -2);
  });
}

/** The names of those that are in a text. */
export function foundIn(text: string, needles: readonly Needle[]): string[] {
  const lower = text.toLowerCase();
  return needles
    .filter(({ texts, hex }) => texts.some((one) => text.includes(one)) || hex.some((one) => lower.includes(one)))
    .map(({ name }) => name);
}
