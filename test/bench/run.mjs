// npm run bench -- [name …] [--json] [--quick]: runs benchmarks. Each prints a table; --json prints one JSON document
// instead.
// npm run bench -- compare --base REF [--json] [--quick]: compares the working tree with a commit, and exits with 1 if a
// figure is worse in every round.
// npm run bench -- peers: compares rms with Svix and Outpost, which it builds from source, and writes a page of docs.
import { parseArgs } from 'node:util';
import { endDescendants } from './processes.mjs';

const benchmarks = [
  'requests',
  'protection',
  'lists',
  'names',
  'deliveries',
  'engine',
  'isolation',
  'turns',
  'fan-out',
  'filters',
  'backlog',
  'schedule',
  'log',
  'latency',
  'tracing',
  'start',
  'memory',
  'idle',
  'deletion',
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    base: { type: 'string' },
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
});
const known = [...benchmarks, 'compare', 'peers'];
const unknown = positionals.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`Unknown benchmark: ${unknown.join(', ')}. Known: ${known.join(', ')}.`);
  process.exit(2);
}
if (positionals.includes('compare') && !values.base) {
  console.error('compare needs a commit, for example: npm run bench -- compare --base main');
  process.exit(2);
}

const results = {};
for (const name of positionals.length > 0 ? positionals : benchmarks) {
  const { run } = await import(`./${name}.mjs`);
  console.error(`${name} …`);
  const result = await run({ quick: values.quick, base: values.base }).catch(fail);
  results[name] = result;
  if (!values.json) print(name, result);
}
if (values.json) console.log(JSON.stringify(results, null, 2));
process.exit(results.compare?.goals.some(({ met }) => !met) ? 1 : 0);

/** Ends the servers that a failed benchmark has started, and this process. */
async function fail(error) {
  console.error(error);
  process.exitCode = 1;
  // The benchmark's connections fail when their servers end.
  process.on('uncaughtException', () => {});
  await endDescendants();
  process.exit();
}

/** Prints a result: `{ about, rows: [{…}], goals: [{ goal, measured, met }] }`. */
function print(name, { about, rows, goals }) {
  console.log(`\n${name}: ${about}`);
  const columns = [...new Set(rows.flatMap(Object.keys))];
  const cell = (value) => (typeof value === 'number' ? String(Math.round(value * 1000) / 1000) : String(value ?? ''));
  const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => cell(row[column]).length)));
  const line = (cells) =>
    cells.map((text, i) => (i === 0 ? text.padEnd(widths[i]) : text.padStart(widths[i]))).join('  ');
  console.log(line(columns));
  for (const row of rows) console.log(line(columns.map((column) => cell(row[column]))));
  for (const { goal, measured, met } of goals) console.log(`${met ? 'met   ' : 'missed'}  ${goal}: ${cell(measured)}`);
}
