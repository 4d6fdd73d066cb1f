import { type TraceContext, untraced } from '@rms/async/tracing';
import type { LimitDecision } from '@rms/limits';
import type { AppResponse, RequestLocals } from '@rms/net/http';

/** State of a request while it is served. */
export type Locals = RequestLocals & {
  /** Trace context that the RPCs of this request propagate. */
  trace: TraceContext;
  /** Set after authentication, like `keyId`. */
  workspaceId: string | undefined;
  keyId: string | undefined;
  /** Result of the limit check. undefined if the check did not run. */
  limitOutcome: LimitDecision['outcome'] | undefined;
  /** Public error code of the response, if it is an error. */
  errorCode: string | undefined;
  /** End of each step (performance.now()). undefined if it is not over. */
  readonly steps: { authenticatedAtMs?: number; limitedAtMs?: number; handledAtMs?: number };
};

export type ApiResponse = AppResponse<Locals>;

/** Returns a new request's state. */
export function newLocals(): Omit<Locals, keyof RequestLocals> {
  return {
    trace: untraced,
    workspaceId: undefined,
    keyId: undefined,
    limitOutcome: undefined,
    errorCode: undefined,
    steps: {},
  };
}
