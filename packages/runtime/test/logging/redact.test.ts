import { redactLine } from '@rms/runtime/logging';
import { isLinear } from '@rms/testkit';

const size = 64 * 1024;
const parts = [
  '://',
  '://a',
  '://a:',
  '://a:b',
  'sk_live_',
  'whsec_',
  'Bearer ',
  'Bearer  ',
  'token=',
  'token',
  'A',
  '\\"',
  '-----BEGIN ',
  '-----BEGIN PRIVATE KEY-----',
  '-----BEGIN PRIVATE KEY-----\n',
  '@',
  ' ',
];

describe('redactLine', () => {
  test.each(parts.flatMap((part) => ['', '\n', '@', '='].map((tail) => [part, tail])))(
    'takes time in proportion to the length of %j repeated and %j',
    (part, tail) => {
      const textOf = (length: number) => `://a:${part.repeat(length / part.length)}${tail}=`;
      expect(isLinear(size, textOf, (text) => redactLine(text))).toBe(true);
    },
  );

  test.each([
    ['sk_live_0123456789abcdefghijklmnopqrstuvwxyzAB', 'sk_live_[secret]'],
    ['postgres://rms:hunter2hunter2@db', 'postgres://rms:[secret]'],
    [`${Buffer.alloc(32, 'hunter2').toString('base64')} is the key`, '[secret]'],
    ['-----BEGIN PRIVATE KEY-----\nhunter2\nhunter2\nhunter2\n', '-----BEGIN PRIVATE KEY-----[secret]'],
  ])('removes the whole of a secret at the cut: %j', (secret, shown) => {
    for (let length = 20; length < 20 + secret.length && length < 80; length += 1) {
      const redacted = redactLine(`${'-'.repeat(19)} ${secret}`, { length });
      expect([`${'-'.repeat(19)} ${shown}`, '-'.repeat(19)].some((text) => redacted.startsWith(text))).toBe(true);
      expect(redacted).not.toMatch(/hunter|aHVudGVy|0123/);
    }
  });

  test('shows no part of a secret that only the characters after the cut contain', () => {
    const line = `${'token=hunter2 '.repeat(8)}${'x'.repeat(1_000)}sk_live_0123456789`;
    expect(redactLine(line, { length: 100 })).toMatch(/^(token=\[secret\] )+[token=]*(\[secret\])?$/);
  });
});
