import { createProxyChoice, parseProxy } from '@rms/net/dial';
import { readEgressConfig } from '@rms/net/guarded-http';
import { readSettings } from '@rms/runtime/settings';

const log = { info() {}, error() {} };
const configOf = (env: Record<string, string>) => readEgressConfig(readSettings(env));

describe('the egress proxy settings', () => {
  test.each([
    ['http://proxy.example:3128', { protocol: 'http:', host: 'proxy.example', port: 3128, authorization: undefined }],
    ['https://proxy.example', { protocol: 'https:', host: 'proxy.example', port: 443, authorization: undefined }],
    ['HTTP://[fd00::1]:8080/', { protocol: 'http:', host: 'fd00::1', port: 8080, authorization: undefined }],
    ['proxy.example:3128', { protocol: 'http:', host: 'proxy.example', port: 3128, authorization: undefined }],
    ['http://rms:p%40ss%2F@proxy', { protocol: 'http:', host: 'proxy', port: 80, authorization: 'Basic cm1zOnBAc3Mv' }],
  ])('%s', (text, proxy) => {
    expect(parseProxy(text)).toEqual(proxy);
  });

  test.each([
    'socks5://proxy:1080',
    'http://',
    'http://u:secret/word@proxy',
    'http://proxy/path',
    'secret word',
    'http://u:%zz@p',
  ])('an invalid URL is rejected without repeating it: %s', (text) => {
    const read = () => configOf({ WEBHOOK_PROXY_URL: text });
    expect(read).toThrow(/^WEBHOOK_PROXY_URL: /);
    expect(read).not.toThrow(/secret|zz/);
  });

  test('default to HTTPS_PROXY, and "none" disables the proxy', () => {
    const hostOf = (env: Record<string, string>) => configOf(env).proxy?.(log).host;
    expect(hostOf({})).toBeUndefined();
    expect(hostOf({ HTTPS_PROXY: 'http://upper', https_proxy: 'http://lower' })).toBe('upper');
    expect(hostOf({ https_proxy: 'http://lower' })).toBe('lower');
    expect(hostOf({ WEBHOOK_PROXY_URL: 'http://own', HTTPS_PROXY: 'http://upper' })).toBe('own');
    expect(hostOf({ WEBHOOK_PROXY_URL: 'none', HTTPS_PROXY: 'http://upper' })).toBeUndefined();
    expect(configOf({ no_proxy: 'a.example, .b.example' }).noProxy).toEqual(['a.example', '.b.example']);
    expect(configOf({ WEBHOOK_NO_PROXY: 'c.example', NO_PROXY: 'a.example' }).noProxy).toEqual(['c.example']);
  });

  test.each<[string, string, boolean]>([
    ['', 'https://a.example/', true],
    ['', 'https://localhost:8443/', false],
    ['', 'https://127.1.2.3:8443/', false],
    ['', 'https://[::1]:8443/', false],
    ['*', 'https://a.example/', false],
    ['a.example', 'https://a.example/', false],
    ['a.example', 'https://A.example./', false],
    ['a.example', 'https://b.a.example/', false],
    ['a.example', 'https://ba.example/', true],
    ['.a.example', 'https://b.a.example/', false],
    ['*.a.example', 'https://b.a.example/', false],
    ['A.Example', 'https://a.example/', false],
    ['a.example:8443', 'https://a.example:8443/', false],
    ['a.example:8443', 'https://a.example/', true],
    ['a.example:443', 'https://a.example/', false],
    ['a.example:80', 'http://a.example/', false],
    ['10.0.0.0/8', 'https://10.1.2.3/', false],
    ['10.0.0.0/8', 'https://11.1.2.3/', true],
    ['10.1.2.3', 'https://10.1.2.3/', false],
    ['10.1.2.3:8443', 'https://10.1.2.3:8443/', false],
    ['fd00::/8', 'https://[fd00::1]/', false],
    ['[fd00::1]:8443', 'https://[fd00::1]:8443/', false],
    ['[fd00::1]:8443', 'https://[fd00::1]/', true],
    ['fd00::1', 'https://[fd00::1]/', false],
  ])('with "%s" exempt, %s uses the proxy: %s', (exempt, url, through) => {
    const proxy = parseProxy('http://proxy');
    const choose = createProxyChoice(proxy, exempt === '' ? [] : [exempt]);
    expect(choose(new URL(url))).toBe(through ? proxy : undefined);
    expect(createProxyChoice(undefined, [])(new URL(url))).toBeUndefined();
  });

  test.each([
    ['WEBHOOK_ALLOW_CIDRS', '10.0.0.0/33'],
    ['WEBHOOK_DENY_CIDRS', '10.0.0.0/33'],
    ['WEBHOOK_ALLOW_PORTS', '70000'],
    ['WEBHOOK_ALLOW_PORTS', 'ssh'],
    ['WEBHOOK_DNS_SERVERS', 'dns.example'],
    ['WEBHOOK_CA_FILE', '/nowhere/ca.pem'],
  ])('an invalid %s is rejected with an error that names the setting: %s', (name, value) => {
    expect(() => configOf({ [name]: value })).toThrow(new RegExp(`^${name}: `));
  });
});
