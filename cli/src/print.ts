/**
 * Prints the result of a command: one JSON document, or text. The JSON document always has the field `data`, as in the
 * REST API: a list, or the document of a single result.
 */
export function print({ json }: { json?: boolean }, document: object, text: () => string): void {
  const whole = 'data' in document ? document : { data: document };
  process.stdout.write(json ? `${JSON.stringify(whole, null, 2)}\n` : `${harmless(text())}\n`);
}

/** Prints one item of a stream of results: a JSON document on one line, or text. */
export function printLine({ json }: { json?: boolean }, document: unknown, text: string): void {
  process.stdout.write(`${json ? JSON.stringify(document) : harmless(text)}\n`);
}

/** Prints a note to stderr, separate from the result. */
export function note(text: string): void {
  process.stderr.write(`rms: ${harmless(text)}\n`);
}

/** Replaces control characters. Names, URLs and responses come from third parties and must not control the terminal. */
export function harmless(text: string): string {
  return text.replace(/(?![\n\t])\p{Cc}|\p{Bidi_Control}/gu, '\ufffd');
}

/** Formats rows as columns under headings. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, i) => Math.max(heading.length, ...rows.map((row) => (row[i] ?? '').length)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => oneLine(cell).padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd();
  return [line(headings), ...rows.map(line)].join('\n');
}

/** Formats name-value pairs, one per line. */
export function fields(pairs: readonly (readonly [string, string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs.map(([name, value]) => `${name.padEnd(width)}  ${oneLine(value)}`).join('\n');
}

/** Replaces line breaks and tabs, so that a cell cannot look like several rows. */
function oneLine(text: string): string {
  return text.replace(/[\n\t\u2028\u2029]/g, '\ufffd');
}
