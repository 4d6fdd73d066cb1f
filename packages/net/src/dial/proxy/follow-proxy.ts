import { type Followed, followSecret, orSettingsError, type SettingName, type Settings } from '@rms/runtime/settings';
import { createProxyChoice, type HttpProxy, type ProxyChoice, parseProxy } from './proxy-choice.ts';

/** A setting that contains a proxy URL. */
type ProxySetting = Extract<SettingName, 'WEBHOOK_PROXY_URL' | 'HTTPS_PROXY'>;

/** How often a file with a proxy URL is read again. */
const refreshMs = 5_000;

/**
 * Returns a setting's proxy with its current credentials; undefined if the setting is empty or "none". Throws
 * {@link SettingsError} with the setting's name.
 */
export function followProxy(settings: Settings, name: ProxySetting): Followed<HttpProxy> | undefined {
  const first = settings[name];
  if (first === '' || first === 'none') return undefined;
  let latest = { url: first, proxy: orSettingsError(() => parseProxy(first), `${name}: `) };
  const current = followSecret(settings, name, { check: (url) => void parseProxy(url), refreshMs });
  return (log) => {
    const url = current(log);
    if (url !== latest.url) latest = { url, proxy: parseProxy(url) };
    return latest.proxy;
  };
}

/**
 * Returns the proxy of calls that the installation itself makes to https destinations outside of its network:
 * HTTPS_PROXY, except for destinations in NO_PROXY. Calls to http destinations are made directly. Throws
 * {@link SettingsError}.
 */
export function followHttpsProxy(settings: Settings): Followed<ProxyChoice> {
  const proxy = followProxy(settings, 'HTTPS_PROXY');
  orSettingsError(() => createProxyChoice(undefined, settings.NO_PROXY), 'NO_PROXY: ');
  return (log) => {
    const choose = createProxyChoice(proxy && (() => proxy(log)), settings.NO_PROXY);
    return (target) => (target.protocol === 'https:' ? choose(target) : undefined);
  };
}
