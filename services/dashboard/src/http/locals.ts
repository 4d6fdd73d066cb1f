import type { AppResponse, RequestLocals } from '@rms/net/http';

/** State of a request. */
export type Locals = RequestLocals & {
  /** Set once the session has been checked. */
  userId: string | undefined;
  /** Set once a portal session has been checked. */
  portalSessionId: string | undefined;
  /** Public error code of the response. Empty if it is not an error. */
  errorCode: string;
};

export type PageResponse = AppResponse<Locals>;

/** Returns a new request's state. */
export function newLocals(): Omit<Locals, keyof RequestLocals> {
  return { userId: undefined, portalSessionId: undefined, errorCode: '' };
}
