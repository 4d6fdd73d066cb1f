import { readSettings } from '@rms/runtime/settings';
import { readEgressProxyConfig } from '../src/config.ts';

describe('the egress proxy settings', () => {
  test('credentials of the built-in proxy have two parts', () => {
    const read = (text: string) => readEgressProxyConfig(readSettings({ EGRESS_PROXY_CREDENTIALS: text }));
    expect(read('rms:a:b').credentials?.({ info() {}, error() {} })).toBe('rms:a:b');
    expect(read('').credentials).toBeUndefined();
    for (const wrong of ['secret', ':secret', 'secret:']) {
      expect(() => read(wrong)).toThrow('EGRESS_PROXY_CREDENTIALS: must have the form "user:password"');
    }
  });
});
