import type { PeerCertificate } from 'node:tls';
import type { DescMethod } from '@bufbuild/protobuf';
import type { ServerUnaryCall } from '@grpc/grpc-js';

/**
 * Who may call what, by the name in the caller's certificate. Whoever is not named may call nothing. 'all' is every
 * method and reflection; health is for any certificate.
 */
export type Callers = Readonly<Record<string, 'all' | readonly DescMethod[]>>;

type Call = Pick<ServerUnaryCall<unknown, unknown>, 'getAuthContext'>;

/** Throws {@link CallerRefused} unless the call's caller may call the method ("package.Service/Method"). */
export type CallerCheck = (method: string, call: Call) => void;

/**
 * A call by somebody who may not make it; the message is for the caller. It has no public code: to the client of a
 * gateway that is refused, it is a failure inside.
 */
export class CallerRefused extends Error {
  override readonly name = 'CallerRefused';
}

/** What a service's callers are held to. */
export function createCallerCheck(callers: Callers): CallerCheck {
  const allowed = new Map(
    Object.entries(callers).map(([name, methods]) => [
      name,
      methods === 'all' ? methods : new Set(methods.map((method) => `${method.parent.typeName}/${method.name}`)),
    ]),
  );
  return (method, call) => {
    const names = namesOf(call);
    const may = (name: string) => {
      const methods = allowed.get(name);
      return methods === 'all' || methods?.has(method) === true;
    };
    if (names.some(may)) return;
    throw new CallerRefused(`The certificate of "${names.join(', ') || 'nobody'}" may not call ${method}.`);
  };
}

/**
 * The names that a certificate stands for: the first label of each DNS name ("gateway" of "gateway.rms.svc"), or the
 * common name if it has no alternative names at all. Each of several names counts. The domain does not: the CA has to be
 * one that signs for these services alone.
 */
export function callerNames(certificate: PeerCertificate | undefined): string[] {
  if (!certificate) return [];
  const { subject, subjectaltname } = certificate;
  if (!subjectaltname) return [subject?.CN ?? []].flat();
  // Node escapes commas within an entry, and puts what is unusual in quotes: such a name is none of ours.
  const names = subjectaltname
    .split(', ')
    .filter((entry) => entry.startsWith('DNS:'))
    .map((entry) => entry.slice('DNS:'.length).split('.')[0]?.toLowerCase() ?? '');
  return [...new Set(names)];
}

/** By connection, which has one certificate: reading that takes longer than many a call. */
const known = new WeakMap<object, readonly string[]>();

function namesOf(call: Call): readonly string[] {
  const session = sessionOf(call);
  const before = session && known.get(session);
  if (before) return before;
  const names = callerNames(call.getAuthContext()?.sslPeerCertificate);
  if (session) known.set(session, names);
  return names;
}

/** grpc-js has no public way to tell connections apart; without these fields the certificate is read at every call. */
function sessionOf(call: Call): object | undefined {
  return (call as { call?: { stream?: { session?: object } } }).call?.stream?.session;
}
