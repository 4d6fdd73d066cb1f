import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';

/**
 * Time for one address of a host name before the next one is tried. A server that accepts only the second SYN, which is
 * sent after a second, needs longer than Node's default. The connection timeouts of the stores are longer, so that they
 * also try a second address if the first one does not respond.
 */
const attemptTimeoutMs = 1_500;

/**
 * Gives every address of a host name time to accept a connection. Node's default ends an attempt after 250 ms if the
 * name has another address, even if that one refuses. Call it where a program starts: it applies to all connections of
 * the process that are opened by host name, to stores, SMTP servers and OpenID Connect providers.
 *
 * gRPC and webhook calls dial addresses themselves, without this limit.
 */
export function allowSlowConnections(): void {
  setDefaultAutoSelectFamilyAttemptTimeout(attemptTimeoutMs);
}
