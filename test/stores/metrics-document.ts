import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ShownMetric } from './exposition.ts';

const file = fileURLToPath(new URL('../../docs/metrics.md', import.meta.url));
/** Text before the list. */
const head = 'Each metric with its type and labels, and the services that expose it:\n\n';

/** Returns the list that docs/metrics.md must contain for these metrics. */
export function listOf(metrics: Iterable<ShownMetric>): string {
  const rows = [...metrics]
    .filter(({ name }) => name.startsWith('rms_'))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, type, labels, services, help }) => {
      const own = [...labels].filter((label) => label !== 'service' && label !== 'le').sort();
      const typeAndLabels = own.length === 0 ? type : `${type} by ${own.join(', ')}`;
      return `- \`${name}\` (${typeAndLabels}; ${[...services].sort().join(', ')}): ${help}\n`;
    });
  return head + rows.join('');
}

/** Returns the list in docs/metrics.md. */
export function documentedList(): string {
  const text = readFileSync(file, 'utf8');
  const start = text.indexOf(head);
  if (start < 0) return '';
  const end = text.indexOf('\n\n', start + head.length);
  return `${text.slice(start, end < 0 ? undefined : end).trimEnd()}\n`;
}

/** Replaces the list in docs/metrics.md. */
export function writeList(list: string): void {
  const text = readFileSync(file, 'utf8');
  writeFileSync(
    file,
    text.replace(documentedList(), () => list),
  );
}
