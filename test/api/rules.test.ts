import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = import.meta.dirname;

/** Returns the titles of all tests in a folder, as written in its sources. */
function titlesIn(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith('.ts') && name !== 'rules.test.ts')
    .map((name) => readFileSync(join(directory, name), 'utf8'))
    .flatMap((source) => [...source.matchAll(/\btest\(\s*(['"`])(.+?)\1,/gs)].map((match) => match[2] ?? ''));
}

/** Rows of RULES.md: section of the specification, rule, test. */
const rows = readFileSync(join(folder, '..', 'RULES.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\| (?!Section|-)/.test(line))
  .map((line) =>
    line
      .slice(1, -1)
      .split(' | ')
      .map((cell) => cell.trim()),
  );

describe('RULES.md', () => {
  const titles = new Set([...titlesIn(join(folder, 'suites')), ...titlesIn(folder)]);
  const named = new Set(rows.map(([, , title]) => title));

  test('every rule names a test that exists', () => {
    expect(rows.length).toBeGreaterThan(80);
    expect(rows.filter((cells) => cells.length !== 3)).toEqual([]);
    expect([...named].filter((title) => !titles.has(title ?? ''))).toEqual([]);
  });

  test('every test covers a rule', () => {
    expect([...titles].filter((title) => !named.has(title))).toEqual([]);
  });
});
