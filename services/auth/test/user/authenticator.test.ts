import { stepOfCode } from '../../src/second-factor/authenticator.ts';

const periodMs = 30_000;

describe('Codes of an authenticator', () => {
  // Test vectors of RFC 6238, appendix B, with the last six of their eight digits.
  const secret = Buffer.from('12345678901234567890');
  test.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ])('at %i seconds: %s', (seconds, code) => {
    expect(stepOfCode(secret, code, 0, seconds * 1_000)).toBe(Math.floor(seconds / 30));
  });

  test('clocks may differ by at most one period', () => {
    const [atMs, code] = [1_111_111_111_000, '050471'];
    const step = Math.floor(atMs / periodMs);
    expect([-2, -1, 0, 1, 2].map((n) => stepOfCode(secret, code, 0, atMs + n * periodMs))).toEqual([
      undefined,
      step,
      step,
      step,
      undefined,
    ]);
    expect(stepOfCode(secret, code, step - 1, atMs)).toBe(step);
    expect(stepOfCode(secret, code, step, atMs)).toBeUndefined();
  });

  test.each(['', '05047', '0504711', '05047a', '-50471', ' 050471', '٠٥٠٤٧١'])('%j is not a code', (code) => {
    expect(stepOfCode(secret, code, 0, 1_111_111_111_000)).toBeUndefined();
  });
});
