import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../../scripts/lib/prepare.mjs';

/**
 * Writes the comparison page.
 * @param {{ machine: string, date: string, versions: Record<string, string>, settings: Record<string, Record<string, string>>, rows: Record<string, string | number>[], ahead: string[] }} result
 */
export function writeDocument({ machine, date, versions, settings, rows, ahead }) {
  const names = Object.keys(versions);
  const table = [
    `| | ${names.join(' | ')} |`,
    `|---|${names.map(() => '---|').join('')}`,
    ...rows.map((row) => `| ${row.figure} | ${names.map((name) => figure(row[name])).join(' | ')} |`),
  ];
  const settingsOf = names.map(
    (name) =>
      `- ${name} ${versions[name]}: ${Object.entries(settings[name])
        .map(([key, value]) => `\`${key}=${value}\``)
        .join(', ')}`,
  );
  const text = `# Comparison benchmark

\`npm run bench -- peers\` runs the same load through rms, Svix and Outpost and writes this page. It builds both peers from
the source of their releases (Rust, Go and RabbitMQ must be installed), starts each system with stores of its own, and
checks that every event arrives. You can repeat it on your machine; it takes about 15 minutes, and as long again to
build the peers.

Measured on ${date}: ${machine}. All systems, their stores and the load client share these
processors, so compare figures within the table only.

${table.join('\n')}

CPU-seconds are those of all processes of a system, with its stores. Memory is the proportional set size (PSS) of the
same processes.

${ahead.length === 0 ? '' : `A peer is ahead in: ${ahead.join('; ')}.\n\n`}## The loads

- **Burst**: 5,000 events of about 400 bytes from 32 publishers, one endpoint that returns 200. Five rounds; in each
  round, every system has its turn, with pauses of 7 s.
- **50/s**: 50 events per second for 15 s, three rounds. The latency is the time from sending the request to the arrival
  of the event at the endpoint.
- **Idle**: five seconds without requests after the loads, three rounds.
- **Next to a slow endpoint**: 80 events per second for 20 s to two endpoints, of which one takes ten seconds to respond.
  The figures are latencies of the other one.
- **Due retries**: the endpoint returns 503 for 5,000 events. The system is killed, the endpoint recovers, and the system
  starts again when all retries are due. Rates are measured from that start until the last event has arrived.

Figures of bursts, 50/s and idle are medians of their rounds; the other loads run once per system.

## Settings

Settings that are not listed have their defaults. PostgreSQL 18 has its default settings, with fsync; Redis appends to
its file every second.

${settingsOf.join('\n')}

Svix has the queue and the cache in Redis, as its documentation recommends for production. Outpost has its queue in
RabbitMQ and its log in PostgreSQL; its default concurrency of 1 would measure the default. rms runs as \`npm start\`,
with the embedded PostgreSQL.

## What is not comparable

- rms creates a resource, its audit data and its event in one transaction, and publishes the event from there. The peers
  accept an event that another system has already stored.
- Outpost responds when the event is in its queue; it writes its log in batches, up to ten seconds later. After a crash,
  the log lacks these entries.
- rms numbers the events of each workspace without gaps, for its event feed.
- The systems differ in what a failing endpoint costs: rms pauses it, the peers attempt every event.
`;
  writeFileSync(join(root, 'docs', 'comparison-benchmark.md'), text);
}

function figure(value) {
  if (typeof value !== 'number') return value ?? '–';
  if (value >= 100) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(2)));
}
