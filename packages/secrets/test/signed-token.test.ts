import { randomBytes } from 'node:crypto';
import { openToken, signToken } from '../src/index.ts';

describe('signToken and openToken', () => {
  const key = randomBytes(32);

  test('a token opens to its payload, with its key and its binding only', () => {
    const token = signToken(key, '{"after":"Grüße"}', 'live/ws_1');
    expect(openToken([key], token, 'live/ws_1')).toBe('{"after":"Grüße"}');
    expect(openToken([key], token, 'live/ws_2')).toBeUndefined();
    expect(openToken([randomBytes(32)], token, 'live/ws_1')).toBeUndefined();
  });

  test('a token of an earlier key opens as long as that key is among those that are given', () => {
    const token = signToken(key, 'payload', 'b');
    expect(openToken([randomBytes(32), key], token, 'b')).toBe('payload');
    expect(openToken([], token, 'b')).toBeUndefined();
  });

  test('a token can stand in a URL as it is', () => {
    expect(signToken(key, '?&/+ÿ', 'b')).toMatch(/^[A-Za-z0-9_-]+$/);
  });

  test('the border between binding and payload cannot be moved', () => {
    expect(openToken([key], signToken(key, 'bc', 'a'), 'ab')).toBeUndefined();
  });

  test('a token with any character changed, added or taken away does not open', () => {
    const token = signToken(key, 'payload', 'b');
    for (let i = 0; i < token.length; i++) {
      const other = token[i] === 'A' ? 'B' : 'A';
      expect(openToken([key], token.slice(0, i) + other + token.slice(i + 1), 'b')).toBeUndefined();
      expect(openToken([key], token.slice(0, i), 'b')).toBeUndefined();
    }
    for (const more of ['A', '=', ' ', '!']) expect(openToken([key], token + more, 'b')).toBeUndefined();
    expect(openToken([key], '', 'b')).toBeUndefined();
    expect(openToken([key], 'not a token', 'b')).toBeUndefined();
  });
});
