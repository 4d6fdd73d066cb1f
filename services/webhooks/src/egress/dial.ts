import { type LookupFunction, Socket } from 'node:net';
import { BlockedAddressError, blockedBy, type EgressGuard, portOf, type Target } from './guard.ts';

export interface DialOptions {
  readonly guard: EgressGuard;
  readonly lookup: LookupFunction;
  readonly timeoutMs: number;
  /** Whether it stays open for writing when the other side has ended. Default: false. */
  readonly allowHalfOpen?: boolean;
  /** Given the socket before it connects. */
  readonly watch?: (socket: Socket) => void;
}

/**
 * Opens a TCP connection to what the guard permits, and nothing else: its address is judged as it is dialled. Rejects with
 * what came in between; ETIMEDOUT: time was over.
 */
export function dial(target: Target, options: DialOptions): Promise<Socket> {
  const { guard, lookup, timeoutMs, allowHalfOpen, watch } = options;
  const refusal = guard.refusal(target);
  if (refusal) return Promise.reject(blockedBy(refusal, target));
  return new Promise((resolve, reject) => {
    // Not connect(): for the options that it hands to the socket V8 makes hidden classes anew each time, which only a major
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
