import { randomBytes } from 'node:crypto';
import { openToken, signToken } from '../../src/secrets/index.ts';

describe('signToken and openToken', () => {
  const keys = [randomBytes(32)] as const;

  test('a token opens only with its key and binding', () => {
    const token = signToken(keys, '{"after":"Grüße"}', 'live/ws_1');
    expect(openToken(keys, token, 'live/ws_1')).toBe('{"after":"Grüße"}');
    expect(openToken(keys, token, 'live/ws_2')).toBeUndefined();
    expect(openToken([randomBytes(32)], token, 'live/ws_1')).toBeUndefined();
  });

  test('a token needs no escaping in a URL', () => {
    expect(signToken(keys, '?&/+ÿ', 'b')).toMatch(/^[A-Za-z0-9_-]+$/);
  });

  test('the boundary between binding and payload is authenticated', () => {
    expect(openToken(keys, signToken(keys, 'bc', 'a'), 'ab')).toBeUndefined();
  });

  test('a token with any character changed, added or removed does not open', () => {
    const token = signToken(keys, 'payload', 'b');
    for (let i = 0; i < token.length; i++) {
      const other = token[i] === 'A' ? 'B' : 'A';
      expect(openToken(keys, token.slice(0, i) + other + token.slice(i + 1), 'b')).toBeUndefined();
      expect(openToken(keys, token.slice(0, i), 'b')).toBeUndefined();
    }
    for (const more of ['A', '=', ' ', '!']) expect(openToken(keys, token + more, 'b')).toBeUndefined();
    expect(openToken(keys, '', 'b')).toBeUndefined();
    expect(openToken(keys, 'not a token', 'b')).toBeUndefined();
  });

  test('the current key signs; tokens of configured previous keys open', () => {
    const before = signToken(keys, 'payload', 'b');
    const rotated = [randomBytes(32), ...keys] as const;
    expect(openToken(rotated, before, 'b')).toBe('payload');
    expect(openToken(rotated, before, 'c')).toBeUndefined();
    const after = signToken(rotated, 'payload', 'b');
    expect(openToken([rotated[0]], after, 'b')).toBe('payload');
    expect(openToken(keys, after, 'b')).toBeUndefined();
    expect(openToken([rotated[0]], before, 'b')).toBeUndefined();
  });
});
