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

/** Titles of tests in RULES.md. */
const rules = readFileSync(join(folder, '..', 'RULES.md'), 'utf8')
  .split('\n')
  .flatMap((line) => (line.startsWith('- ') ? [line.slice(2)] : []));

describe('RULES.md', () => {
  const titles = new Set([...titlesIn(join(folder, 'suites')), ...titlesIn(folder)]);

  test('every rule is the title of a test that exists', () => {
    expect(rules.length).toBeGreaterThan(80);
    expect(rules.filter((title) => !titles.has(title))).toEqual([]);
  });

  test('every test covers a rule', () => {
    expect([...titles].filter((title) => !rules.includes(title))).toEqual([]);
  });
});
