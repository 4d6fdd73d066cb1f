import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = import.meta.dirname;

/** Returns the titles of all tests in a source. */
function titlesOf(source: string): string[] {
  return [...source.matchAll(/\btest\(\s*(['"`])(.+?)\1,/gs)].map((match) => match[2] ?? '');
}

/** Returns the titles of all tests in a folder, as written in its sources. */
function titlesIn(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith('.ts') && name !== 'rules.test.ts')
    .flatMap((name) => titlesOf(readFileSync(join(directory, name), 'utf8')));
}

const rulesOf = (text: string) => text.split('\n').flatMap((line) => (line.startsWith('- ') ? [line.slice(2)] : []));

const [ofApi = '', ofServices = ''] = readFileSync(join(folder, '..', 'RULES.md'), 'utf8').split(
  '## Shown by tests of the services',
);
/** Titles of tests in RULES.md. */
const rules = rulesOf(ofApi);

describe('RULES.md', () => {
  const titles = new Set([...titlesIn(join(folder, 'suites')), ...titlesIn(folder)]);

  test('every rule is the title of a test that exists', () => {
    expect(rules.length).toBeGreaterThan(80);
    expect(rules.filter((title) => !titles.has(title))).toEqual([]);
  });

  test('every test covers a rule', () => {
    expect([...titles].filter((title) => !rules.includes(title))).toEqual([]);
  });

  test('every rule of the services is the title of a test of its file', () => {
    const lists = ofServices.split(/^(?=\S+\.test\.ts$)/m).slice(1);
    expect(lists.length).toBeGreaterThan(5);
    for (const list of lists) {
      const file = list.slice(0, list.indexOf('\n'));
      const existing = titlesOf(readFileSync(join(folder, '..', '..', file), 'utf8'));
      expect([file, rulesOf(list).filter((title) => !existing.includes(title))]).toEqual([file, []]);
    }
  });
});
