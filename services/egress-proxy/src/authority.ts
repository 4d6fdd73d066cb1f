import { hostOf, type Target } from '@rms/net/dial';

/**
 * Parses a CONNECT request's target; returns undefined if it is invalid. The host is normalized as in a URL, so
 * that the guard sees the same text for every spelling.
 */
export function parseAuthority(text: string | undefined): Target | undefined {
  const [, host = '', port = ''] = /^(\[[^\]]+\]|[^:[\]@/?#\\\s]+):(\d{1,5})$/.exec(text ?? '') ?? [];
  if (host === '' || Number(port) > 65_535 || !URL.canParse(`http://${host}/`)) return undefined;
  const { hostname } = new URL(`http://${host}/`);
  return { hostname: hostOf(hostname), port: `${Number(port)}` };
}
