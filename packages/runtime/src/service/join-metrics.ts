/**
 * Merges the output of several registries, so that each metric occurs once, as the text format requires. Services of
 * one process have metrics of the same name, which differ in their label `service`.
 *
 * @param texts output of @prometheus-io/client: blocks separated by a blank line, each starting with "# HELP name"
 */
export function joinMetrics(texts: readonly string[]): string {
  const blocks = new Map<string, string[]>();
  for (const block of texts.flatMap((text) => text.split('\n\n'))) {
    const [help = '', type = '', ...samples] = block.trim().split('\n');
    if (help === '') continue;
    const name = help.split(' ', 3)[2] ?? '';
    const lines = blocks.get(name);
    if (lines) lines.push(...samples);
    else blocks.set(name, [help, type, ...samples]);
  }
  return `${[...blocks.values()].map((lines) => lines.join('\n')).join('\n\n')}\n`;
}
