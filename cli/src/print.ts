/** Prints a command's outcome: one JSON document, or text for a person. */
export function print({ json }: { json?: boolean }, document: unknown, text: () => string): void {
  process.stdout.write(json ? `${JSON.stringify(document, null, 2)}\n` : `${harmless(text())}\n`);
}

/** Prints one of many outcomes that come one after another: a JSON document on a line of its own, or text for a person. */
export function printLine({ json }: { json?: boolean }, document: unknown, text: string): void {
  process.stdout.write(`${json ? JSON.stringify(document) : harmless(text)}\n`);
}

/** Says something beside the outcome, on stderr. */
export function note(text: string): void {
  process.stderr.write(`rms: ${harmless(text)}\n`);
}

/** Names, URLs and the answers of endpoints are other people's: none of them gets to steer the terminal. */
export function harmless(text: string): string {
  return text.replace(/(?![\n\t])\p{Cc}|\p{Bidi_Control}/gu, '\ufffd');
}

/** Rows under their headings, in columns. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, i) => Math.max(heading.length, ...rows.map((row) => (row[i] ?? '').length)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => oneLine(cell).padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd();
  return [line(headings), ...rows.map(line)].join('\n');
}

/** Names and their values, one a line. */
export function fields(pairs: readonly (readonly [string, string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs.map(([name, value]) => `${name.padEnd(width)}  ${oneLine(value)}`).join('\n');
}

/** A cell does not get to look like further rows. */
function oneLine(text: string): string {
  return text.replace(/[\n\t\u2028\u2029]/g, '\ufffd');
}
