/**
 * Joins what several registries show into one answer in which each metric stands once, as the text format asks for:
 * services of one process have metrics of the same name, which differ by their label `service`.
 *
 * @param texts as prom-client writes them: blocks with a blank line between, each begins with "# HELP name"
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
