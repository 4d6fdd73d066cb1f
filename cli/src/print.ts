import stringWidth from 'string-width';

/**
 * Prints a command's result: one JSON document, or text. The JSON document always has the field `data`, as in the
 * REST API: a list, or a single result's document.
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

/** Formats rows as columns under headings. Columns are aligned for text of every script. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [headings, ...rows].map((row) => row.map(oneLine));
  const widths = headings.map((_, i) => cells.reduce((width, row) => Math.max(width, stringWidth(row[i] ?? '')), 0));
  return cells
    .map((row) =>
      row
        .map((cell, i) => padded(cell, widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Formats name-value pairs, one per line. */
export function fields(pairs: readonly (readonly [string, string])[]): string {
  const width = Math.max(...pairs.map(([name]) => stringWidth(name)));
  return pairs.map(([name, value]) => `${padded(name, width)}  ${oneLine(value)}`).join('\n');
}

/** Appends spaces up to a number of terminal columns. Some characters need two columns, others none. */
function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - stringWidth(text)));
}

/** Replaces line breaks and control characters, so that a cell cannot look like several rows. */
function oneLine(text: string): string {
  return harmless(text).replace(/[\n\t\u2028\u2029]/g, '\ufffd');
}
