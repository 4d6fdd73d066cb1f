import { changeText, type FieldValue, namedText } from '@rms/base/audit-change';
import { type AuditedFields, changesBetween, secretReplaced } from '../../src/audit/index.ts';

interface Thing {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly addresses: readonly string[];
  readonly limit: number | undefined;
  readonly isOn: boolean;
  readonly endsAt: Date | undefined;
  readonly sealed: Buffer | undefined;
  readonly metadata: Readonly<Record<string, string>>;
}

const fields: AuditedFields<Thing> = {
  id: 'omitted',
  name: 'shown',
  url: 'shown',
  addresses: 'shown',
  limit: 'shown',
  isOn: 'shown',
  endsAt: 'shown',
  sealed: { secret: 'password' },
  metadata: (pairs) => pairs,
};

const thing: Thing = {
  id: '1',
  name: 'a',
  url: 'https://a.example/',
  addresses: [],
  limit: undefined,
  isOn: false,
  endsAt: undefined,
  sealed: undefined,
  metadata: {},
};

/** Returns the changes between the thing and a thing with other properties as [field, before, after]. */
const changed = (before: Partial<Thing>, after: Partial<Thing>) =>
  listOf(changesBetween(fields, { ...thing, ...before }, { ...thing, ...after }));
const listOf = (changes: readonly { field: string; before: FieldValue; after: FieldValue }[]) =>
  changes.map(({ field, before, after }) => [field, before, after]);

describe('Changes between two states', () => {
  test('are the fields that differ, in snake case', () => {
    const endsAt = new Date('2026-01-02T03:04:05Z');
    expect(changed({}, {})).toEqual([]);
    expect(changed({ id: '1' }, { id: '2' })).toEqual([]);
    expect(changed({}, { name: 'b', isOn: true, endsAt, limit: 0 })).toEqual([
      ['name', 'a', 'b'],
      ['limit', null, 0],
      ['is_on', false, true],
      ['ends_at', null, '2026-01-02T03:04:05.000Z'],
    ]);
    expect(changed({ addresses: ['a', 'b'] }, { addresses: ['b', 'a'] })).toEqual([
      ['addresses', ['a', 'b'], ['b', 'a']],
    ]);
  });

  test('of a new and of a deleted object leave out fields without a value', () => {
    const created = listOf(changesBetween(fields, undefined, { ...thing, name: '' }));
    expect(created).toEqual([
      ['url', null, 'https://a.example/'],
      ['is_on', null, false],
    ]);
    expect(listOf(changesBetween(fields, thing, undefined))).toEqual([
      ['name', 'a', null],
      ['url', 'https://a.example/', null],
      ['is_on', false, null],
    ]);
  });

  test('name each part of an object, also an empty one', () => {
    expect(changed({ metadata: { team: 'a', zone: '' } }, { metadata: { team: 'b', teamName: 'c' } })).toEqual([
      ['metadata.team', 'a', 'b'],
      ['metadata.zone', '', null],
      ['metadata.teamName', null, 'c'],
    ]);
  });

  test('contain no secret', () => {
    const [one, two] = [Buffer.from('first password'), Buffer.from('second password')];
    expect(changed({ sealed: one }, { sealed: Buffer.from(one) })).toEqual([]);
    expect(changed({}, { sealed: one })).toEqual([['password', null, '[secret]']]);
    expect(changed({ sealed: one }, { sealed: two })).toEqual([['password', '[secret]', '[secret]']]);
    expect(changed({ sealed: one }, {})).toEqual([['password', '[secret]', null]]);
    expect(listOf(secretReplaced('recovery_codes'))).toEqual([['recovery_codes', '[secret]', '[secret]']]);
    // Values and names that look like secrets, as in log lines.
    expect(changed({}, { url: 'https://a.example/?token=hunter2&x=1' })).toEqual([
      ['url', 'https://a.example/', 'https://a.example/?token=[secret]&x=1'],
    ]);
    expect(changed({}, { url: 'https://ann:hunter2@a.example/' })[0]?.[2]).toBe('https://ann:[secret]@a.example/');
    expect(changed({}, { addresses: ['sk_live_hunter2hunter2'] })[0]?.[2]).toEqual(['sk_live_[secret]']);
    expect(changed({}, { metadata: { api_token: 'hunter2' } })).toEqual([['metadata.api_token', null, '[secret]']]);
    expect(changed({}, { metadata: { 'token=hunter2': 'a' } })[0]?.[0]).toBe('metadata.token=[secret]');
  });

  test('are cut so that the difference remains visible', () => {
    const long = 'x'.repeat(2_000);
    const [[, before, after] = []] = changed({ url: `https://${long}/a` }, { url: `https://${long}/b` });
    expect([before, after]).toEqual([`…${'x'.repeat(19)}/a`, `…${'x'.repeat(19)}/b`]);
    const [[, none, cut] = []] = changed({ name: '' }, { name: long });
    expect([none, cut]).toEqual([null, `${'x'.repeat(500)}…`]);
    const many = Array.from({ length: 100 }, (_, i) => `192.0.2.${i}/32`);
    const [[, old, now] = []] = changed({ addresses: many }, { addresses: [...many.slice(1), '10.0.0.0/8'] });
    expect([old, now]).toEqual([
      ['192.0.2.0/32', '… 99 unchanged'],
      ['10.0.0.0/8', '… 99 unchanged'],
    ]);
    const added = changed({}, { addresses: many })[0]?.[2] as string[];
    expect(added.at(-1)).toMatch(/^… \d+ more$/);
    expect(changed({}, { addresses: [long] })).toEqual([['addresses', null, [`${'x'.repeat(500)}…`]]]);
    // A cut never leaves half of a character.
    const [[, , emoji] = []] = changed({ name: '' }, { name: `x${'😀'.repeat(300)}` });
    expect((emoji as string).isWellFormed()).toBe(true);
  });

  test('have a bounded size', () => {
    const pairs = (letter: string) =>
      Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`${letter}${i}`.padEnd(80, '-'), 'v'.repeat(1_000)]));
    const changes = changesBetween(fields, { ...thing, metadata: pairs('a') }, { ...thing, metadata: pairs('b') });
    expect(changes).toHaveLength(100);
    expect(changes.at(-1)).toEqual({ field: '…', before: null, after: '21 more fields' });
    expect(JSON.stringify(changes).length).toBeLessThan(20_000);
  });

  test('list every property of the object', () => {
    // @ts-expect-error: a new property must be listed.
    const incomplete: AuditedFields<{ a: string; b: string }> = { a: 'shown' };
    // @ts-expect-error: raw bytes are never shown.
    const bytes: AuditedFields<{ sealed: Buffer | undefined }> = { sealed: 'shown' };
    expect([incomplete, bytes]).toHaveLength(2);
  });
});

test.each([
  [{ field: 'url', before: 'https://a', after: 'https://b' }, 'url: https://a → https://b'],
  [{ field: 'limit', before: null, after: 0 }, 'limit: none → 0'],
  [{ field: 'events', before: ['a', 'b'], after: null }, 'events: a, b → none'],
  [{ field: 'metadata.a', before: '', after: 'b' }, 'metadata.a: "" → b'],
  [{ field: 'password', before: null, after: '[secret]' }, 'password: set'],
  [{ field: 'password', before: '[secret]', after: '[secret]' }, 'password: changed'],
  [{ field: 'password', before: '[secret]', after: null }, 'password: removed'],
  [{ field: 'url', before: '?token=[secret]', after: '?token=[secret]' }, 'url: changed'],
])('%j is shown as "%s"', (change, text) => {
  expect(changeText(change)).toBe(text);
});

test('a name is shown with its ID', () => {
  expect(namedText('Orders', 'wh_1')).toBe('"Orders" (wh_1)');
  expect(namedText(null, 'wh_1')).toBe('wh_1');
  expect(namedText('gold', 'gold')).toBe('gold');
});
