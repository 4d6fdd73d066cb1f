import { createIds, idTime, isId, newId } from '@rms/base/ids';
import fc from 'fast-check';

const prefixes = ['res', 'wh', 'evt', 'dlv', 'key', 'ws', 'req'] as const;
const anyPrefix = fc.constantFrom(...prefixes);
/** All values of 48 bits. */
const anyTimeMs = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

describe('IDs', () => {
  test('consist of a prefix, "_" and 26 characters that need no escaping', () => {
    fc.assert(
      fc.property(anyPrefix, anyTimeMs, (prefix, atMs) => {
        const id = newId(prefix, atMs);
        expect(id).toMatch(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`));
        expect(isId(prefix, id)).toBe(true);
        expect(encodeURIComponent(id)).toBe(id);
      }),
    );
  });

  test('contain their creation time in milliseconds', () => {
    fc.assert(fc.property(anyPrefix, anyTimeMs, (prefix, atMs) => void expect(idTime(newId(prefix, atMs))).toBe(atMs)));
    const before = Date.now();
    const createdAt = idTime(newId('res'));
    expect(createdAt).toBeGreaterThanOrEqual(before);
    // The ID may have a slightly later time if many are created within a millisecond.
    expect(createdAt).toBeLessThanOrEqual(Date.now() + 1_000);
  });

  test('sort by time, byte by byte', () => {
    fc.assert(
      fc.property(anyPrefix, anyTimeMs, anyTimeMs, (prefix, first, second) => {
        fc.pre(first !== second);
        const order = byBytes(newId(prefix, first), newId(prefix, second));
        expect(Math.sign(order)).toBe(Math.sign(first - second));
      }),
    );
  });

  test('of one process sort in creation order without duplicates', () => {
    const created = Array.from({ length: 20_000 }, () => newId('res'));
    expect([...created].sort(byBytes)).toEqual(created);
    expect(new Set(created).size).toBe(created.length);
  });

  test('follow a clock that is corrected after a jump ahead, and stay sorted while it is set back a little', () => {
    let nowMs = Date.UTC(2026, 0, 1);
    const make = createIds(() => nowMs);
    const before = make('evt');
    nowMs += 30 * 86_400_000;
    expect(idTime(make('evt'))).toBe(nowMs);
    nowMs -= 30 * 86_400_000;
    const after = make('evt');
    expect(idTime(after)).toBe(nowMs);
    expect(after).not.toBe(before);
    nowMs -= 5_000;
    const later = Array.from({ length: 1_000 }, () => make('evt'));
    expect([after, ...later].sort(byBytes)).toEqual([after, ...later]);
  });

  test('contain a UUID of version 7', () => {
    const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
    let bits = 0n;
    for (const character of newId('res').slice(4)) bits = bits * 32n + BigInt(alphabet.indexOf(character));
    const hex = bits.toString(16).padStart(32, '0');
    expect(hex[12]).toBe('7');
    expect('89ab').toContain(hex[16]);
  });

  test.each([
    ['of another kind', newId('wh')],
    ['empty', ''],
    ['without a body', 'res_'],
    ['too short', newId('res').slice(0, -1)],
    ['too long', `${newId('res')}0`],
    ['in capitals', newId('res').toUpperCase()],
    ['with an unused letter', newId('res').slice(0, -1).concat('u')],
    ['past 128 bits', `res_8${'0'.repeat(25)}`],
    ['with a line break', `${newId('res')}\n`],
    ['with a leading space', ` ${newId('res')}`],
    ['with NUL', `${newId('res').slice(0, -1)}\0`],
  ])('an ID %s is invalid', (_, text) => {
    expect(isId('res', text)).toBe(false);
  });

  test('other texts are invalid', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        if (isId('res', text)) expect(text).toMatch(/^res_[0-7][0-9a-z]{25}$/);
      }),
    );
  });
});
