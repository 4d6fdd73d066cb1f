import { localUrl } from '../../src/http/index.ts';

test.each([
  ['127.0.0.1', 'http://127.0.0.1:8080'],
  ['0.0.0.0', 'http://127.0.0.1:8080'],
  ['::', 'http://[::1]:8080'],
  ['::1', 'http://[::1]:8080'],
  ['rms.example', 'http://rms.example:8080'],
])('a listener bound to %s is reachable at %s', (host, url) => {
  expect(localUrl(host, 8080)).toBe(url);
});
