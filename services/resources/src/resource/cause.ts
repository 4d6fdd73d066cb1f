import { actorOf } from '@rms/postgres/audit';
import type { CallContext } from '@rms/rpc';
import type { Cause } from './event.ts';

/** Returns the cause of changes that a call makes. */
export function causeOf(context: CallContext | undefined): Cause {
  const { requestId = '', traceparent = '', tracestate = '' } = context ?? {};
  const { clientAddress = '', actor = '', actorName = '', principal } = context ?? {};
  return {
    requestId,
    traceparent,
    tracestate,
    clientAddress,
    actorName,
    actor: actorOf({ actor, ...(principal ? { principal } : {}) }),
  };
}
