import { idTime, isId, newId } from '@rms/ids';
import fc from 'fast-check';

const prefixes = ['res', 'wh', 'evt', 'dlv', 'key', 'ws', 'req'] as const;
const anyPrefix = fc.constantFrom(...prefixes);
/** All that 48 bits hold. */
const anyTimeMs = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

describe('Identifiers', () => {
  test('have their prefix, "_" and 26 characters that need no escaping anywhere', () => {
    fc.assert(
      fc.property(anyPrefix, anyTimeMs, (prefix, atMs) => {
        const id = newId(prefix, atMs);
        expect(id).toMatch(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`));
        expect(isId(prefix, id)).toBe(true);
        expect(encodeURIComponent(id)).toBe(id);
      }),
    );
  });

  test('tell when they were made, to the millisecond', () => {
    fc.assert(fc.property(anyPrefix, anyTimeMs, (prefix, atMs) => expect(idTime(newId(prefix, atMs))).toBe(atMs)));
    const before = Date.now();
    const madeAt = idTime(newId('res'));
    expect(madeAt).toBeGreaterThanOrEqual(before);
    // One of many made within a millisecond may carry a time just ahead.
    expect(madeAt).toBeLessThanOrEqual(Date.now() + 1_000);
  });

  test('sort, byte by byte, by their time', () => {
    fc.assert(
      fc.property(anyPrefix, anyTimeMs, anyTimeMs, (prefix, first, second) => {
        fc.pre(first !== second);
        const order = byBytes(newId(prefix, first), newId(prefix, second));
        expect(Math.sign(order)).toBe(Math.sign(first - second));
      }),
    );
  });

  test('of one process sort in the order in which they were made, and none comes twice', () => {
    const made = Array.from({ length: 20_000 }, () => newId('res'));
    expect([...made].sort(byBytes)).toEqual(made);
    expect(new Set(made).size).toBe(made.length);
  });

  test('hold a UUID of version 7', () => {
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
    ['with a letter that is not in use', newId('res').slice(0, -1).concat('u')],
    ['past 128 bits', `res_8${'0'.repeat(25)}`],
    ['with a line end', `${newId('res')}\n`],
    ['with a space in front', ` ${newId('res')}`],
    ['with NUL', `${newId('res').slice(0, -1)}\0`],
  ])('one %s is none', (_, text) => {
    expect(isId('res', text)).toBe(false);
  });

  test('no other text passes for one', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        if (isId('res', text)) expect(text).toMatch(/^res_[0-7][0-9a-z]{25}$/);
      }),
    );
  });
});
