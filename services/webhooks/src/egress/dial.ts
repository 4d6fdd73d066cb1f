import { type LookupFunction, Socket } from 'node:net';
import { BlockedAddressError, blockedBy, type EgressGuard, portOf, type Target } from './guard.ts';

export interface DialOptions {
  readonly guard: EgressGuard;
  readonly lookup: LookupFunction;
  readonly timeoutMs: number;
  /** Whether the socket stays open for writing after the other side has ended. Defaults to false. */
  readonly allowHalfOpen?: boolean;
  /** Receives the socket before it connects. */
  readonly watch?: (socket: Socket) => void;
}

/**
 * Opens a TCP connection if the guard permits the target, and checks the address that it actually connects to. Rejects
 * with the cause; with ETIMEDOUT after `timeoutMs`.
 */
export function dial(target: Target, options: DialOptions): Promise<Socket> {
  const { guard, lookup, timeoutMs, allowHalfOpen, watch } = options;
  const refusal = guard.refusal(target);
  if (refusal) return Promise.reject(blockedBy(refusal, target));
  return new Promise((resolve, reject) => {
    // Avoids connect(): for its options object, V8 creates new hidden classes on every call, which only a major
    // collection frees.
    const socket = allowHalfOpen ? new Socket({ allowHalfOpen }) : new Socket();
    watch?.(socket);
    const timer = setTimeout(() => {
      socket.destroy(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' }));
    }, timeoutMs);
    socket.once('error', reject);
    socket.once('close', () => clearTimeout(timer));
    socket.once('connect', () => {
      clearTimeout(timer);
      const peer = socket.remoteAddress;
      if (!peer || !guard.permitted(peer)) {
        socket.destroy(new BlockedAddressError('connected to an address that is not public', peer ? [peer] : []));
        return;
      }
      resolve(socket.setNoDelay(true));
    });
    socket.connect({ host: target.hostname, port: Number(portOf(target)), lookup, autoSelectFamily: true });
  });
}
