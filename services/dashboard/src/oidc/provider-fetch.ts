import { connect } from '@rms/dial';
import type { customFetch, DiscoveryRequestOptions } from 'openid-client';
import { Agent, fetch } from 'undici';

const connectTimeoutMs = 5_000;

/**
 * Sends a request to the OpenID Connect provider. It opens a connection per request, because a provider that closes an
 * idle connection while a request is sent would fail a sign-in, and an authorization code cannot be used again.
 */
export const fetchFromProvider = ((url: string, options: object) =>
  fetch(url, {
    ...options,
    dispatcher: oneRequestPerConnection,
  } as never)) as unknown as Required<DiscoveryRequestOptions>[typeof customFetch];

const oneRequestPerConnection = new Agent({
  pipelining: 0,
  connect({ protocol, hostname, port }, done) {
    const isTls = protocol === 'https:';
    const tls = isTls ? { ALPNProtocols: ['http/1.1'] } : undefined;
    connect({ host: hostname, port: Number(port) || (isTls ? 443 : 80), timeoutMs: connectTimeoutMs, tls }).then(
      (socket) => done(null, socket),
      (error: Error) => done(error, null),
    );
  },
});
