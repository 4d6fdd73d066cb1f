import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ShownMetric } from './exposition.ts';

const file = fileURLToPath(new URL('../../docs/metrics.md', import.meta.url));
const head = '| metric | type | labels | shown by | |\n|---|---|---|---|---|\n';

/** Returns the table that docs/metrics.md must contain for these metrics. */
export function tableOf(metrics: Iterable<ShownMetric>): string {
  const rows = [...metrics]
    .filter(({ name }) => name.startsWith('rms_'))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, type, labels, services, help }) => {
      const own = [...labels].filter((label) => label !== 'service' && label !== 'le').sort();
      return `| \`${name}\` | ${type} | ${own.join(', ')} | ${[...services].sort().join(', ')} | ${help} |\n`;
    });
  return head + rows.join('');
}

/** Returns the table in docs/metrics.md. */
export function documentedTable(): string {
  const text = readFileSync(file, 'utf8');
  const start = text.indexOf(head);
  return start < 0 ? '' : (text.slice(start).split('\n\n')[0]?.trimEnd().concat('\n') ?? '');
}

/** Replaces the table in docs/metrics.md. */
export function writeTable(table: string): void {
  const text = readFileSync(file, 'utf8');
  writeFileSync(
    file,
    text.replace(documentedTable(), () => table),
  );
}
