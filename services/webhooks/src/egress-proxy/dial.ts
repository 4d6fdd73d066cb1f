import { connect, type LookupFunction, type Socket } from 'node:net';
import { BlockedAddressError, blockedBy, type EgressGuard, type Target } from '../egress/guard.ts';

/** A target as CONNECT names it; undefined: it is none. The host is spelled as in a URL, so that every spelling is judged. */
export function parseAuthority(text: string | undefined): Target | undefined {
  const [, host = '', port = ''] = /^(\[[^\]]+\]|[^:[\]@/?#\\\s]+):(\d{1,5})$/.exec(text ?? '') ?? [];
  if (host === '' || Number(port) > 65_535 || !URL.canParse(`http://${host}/`)) return undefined;
  const { hostname } = new URL(`http://${host}/`);
  return { hostname: hostname.replace(/^\[|\]$/g, ''), port: `${Number(port)}` };
}

/** Connects to what the guard permits, and nothing else. Rejects with what came in between; ETIMEDOUT: time was over. */
export function dial(
  target: Target,
  guard: EgressGuard,
  { lookup, timeoutMs }: { lookup: LookupFunction; timeoutMs: number },
): Promise<Socket> {
  const refusal = guard.refusal(target);
  if (refusal) return Promise.reject(blockedBy(refusal, target));
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: target.hostname,
      port: Number(target.port),
      lookup,
      autoSelectFamily: true,
      allowHalfOpen: true,
    });
    const timer = setTimeout(() => {
      socket.destroy(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' }));
    }, timeoutMs);
    socket.once('error', reject);
    socket.once('close', () => clearTimeout(timer));
    socket.once('connect', () => {
      clearTimeout(timer);
      const peer = socket.remoteAddress;
      if (peer && guard.permitted(peer)) return resolve(socket.setNoDelay(true));
      socket.destroy(new BlockedAddressError('connected to an address that is not public', peer ? [peer] : []));
    });
  });
}
