/** A secret that must not appear anywhere, in all its encodings. */
export interface Needle {
  readonly name: string;
  readonly texts: readonly string[];
  /** Compared case-insensitively. */
  readonly hex: readonly string[];
}

/**
 * Creates a needle for a secret. `core` is the part that must stay secret: hints may show the ends, and every text that
 * contains the secret contains the core.
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

/** Returns the base64 of the bytes inside of longer data, at the three possible alignments. */
function base64In(bytes: Uint8Array): string[] {
  return [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    // The first and last characters depend on the adjacent bytes.
    return text.slice(before === 0 ? 0 : 4, -2);
  });
}

/** Returns the names of needles that a text contains. */
export function foundIn(text: string, needles: readonly Needle[]): string[] {
  const lower = text.toLowerCase();
  return needles
    .filter(({ texts, hex }) => texts.some((one) => text.includes(one)) || hex.some((one) => lower.includes(one)))
    .map(({ name }) => name);
}
