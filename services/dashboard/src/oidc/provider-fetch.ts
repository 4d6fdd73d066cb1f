import { connect, type ProxyChoice } from '@rms/net/dial';
import type { customFetch, DiscoveryRequestOptions } from 'openid-client';
import { Agent, fetch } from 'undici';

const connectTimeoutMs = 5_000;

/**
 * Returns a function that sends requests to the OpenID Connect provider. It opens a connection per request, because a
 * provider that closes an idle connection while a request is sent would fail a sign-in, and an authorization code cannot
 * be used again.
 * @param ca returns the next connection's CA, as PEM; undefined: the public CAs
 * @param proxyFor returns the next connection's proxy; its certificate is verified with the same CA
 */
export function createProviderFetch(
  ca: () => string | undefined = () => undefined,
  proxyFor: ProxyChoice = () => undefined,
): Required<DiscoveryRequestOptions>[typeof customFetch] {
  const dispatcher = new Agent({
    pipelining: 0,
    connect({ protocol, hostname, port }, done) {
      const isTls = protocol === 'https:';
      const tls = isTls ? { ALPNProtocols: ['http/1.1'], ca: ca() } : undefined;
      const proxy = proxyFor({ protocol, hostname, port });
      connect({
        host: hostname,
        port: Number(port) || (isTls ? 443 : 80),
        timeoutMs: connectTimeoutMs,
        proxy,
        tls,
        caSetting: 'OIDC_CA_FILE',
      }).then(
        (socket) => done(null, socket),
        (error: Error) => done(error, null),
      );
    },
  });
  return ((url: string, options: object) => fetch(url, { ...options, dispatcher } as never)) as never;
}
