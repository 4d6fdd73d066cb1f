import type { Target } from '../egress/guard.ts';

/** A target as CONNECT names it; undefined: it is none. The host is spelled as in a URL, so that every spelling is judged. */
export function parseAuthority(text: string | undefined): Target | undefined {
  const [, host = '', port = ''] = /^(\[[^\]]+\]|[^:[\]@/?#\\\s]+):(\d{1,5})$/.exec(text ?? '') ?? [];
  if (host === '' || Number(port) > 65_535 || !URL.canParse(`http://${host}/`)) return undefined;
  const { hostname } = new URL(`http://${host}/`);
  return { hostname: hostname.replace(/^\[|\]$/g, ''), port: `${Number(port)}` };
}
