import { timingSafeEqual } from 'node:crypto';
import type { PeerCertificate } from 'node:tls';
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import type { ServerUnaryCall } from '@grpc/grpc-js';
import { RmsError } from '@rms/base/errors';
import type { CallContext } from '@rms/proto/rms/common/v1/common_pb';
import type { RpcSecurity } from './security.ts';
import { tokenKey, userOfActor } from './wire.ts';

/** A method that a caller may call only for a user; see {@link forUsers}. */
interface UserGrant {
  readonly forUser: DescMethod;
}

/** A method that a caller may call only for an API key; see {@link forKeys}. */
interface KeyGrant {
  readonly forKey: DescMethod;
}

/**
 * Methods that each caller may call, by the name in its certificate. A caller that is not listed may call nothing.
 *
 * - A method: the caller may call it in its own name. The context must name no actor, so the caller cannot pose as a
 *   user or an operator.
 * - {@link forUsers}: the caller may call the methods for a user. The context must contain a user, and the contexts in
 *   a batch must contain the same user.
 * - {@link forKeys}: the caller may call the methods for an API key. The context must have a principal and no actor.
 * - 'all': every method, with any actor. Grants next to it exclude methods from {@link operatorMethods}.
 *
 * Health checks are open to any certificate.
 */
export type Callers = Readonly<Record<string, 'all' | readonly ('all' | Grant)[]>>;

type Grant = DescMethod | UserGrant | KeyGrant;

/** Grants methods that a caller may call only for a user. */
export function forUsers(...methods: readonly DescMethod[]): UserGrant[] {
  return methods.map((method) => ({ forUser: method }));
}

/** Grants methods that a caller may call only for an API key. */
export function forKeys(...methods: readonly DescMethod[]): KeyGrant[] {
  return methods.map((method) => ({ forKey: method }));
}

/**
 * Returns the method names ("package.Service/Method") for operators: only a caller with 'all' may call them.
 * They affect the whole installation, so no user and no API key may be the actor, regardless of the calling service.
 */
export function operatorMethods(callers: Callers, services: readonly DescService[]): ReadonlySet<string> {
  const granted = new Set<DescMethod>();
  for (const grants of Object.values(callers)) {
    for (const grant of namedGrants(grants)) {
      granted.add('forUser' in grant ? grant.forUser : 'forKey' in grant ? grant.forKey : grant);
    }
  }
  const methods = services.flatMap((service) => service.methods);
  return pathsOf(methods.filter((method) => !granted.has(method)));
}

type Call = Pick<ServerUnaryCall<unknown, unknown>, 'getAuthContext' | 'metadata' | 'request'>;

/**
 * Throws {@link CallerRefused} unless the caller may call the method ("package.Service/Method") for the actor of the
 * call's context.
 */
export type CallerCheck = (method: string, call: Call, context: Pick<CallContext, 'actor' | 'principal'>) => void;

/**
 * Creates the check of a server's calls. It requires, in this order, the token if there is one, with mutual TLS a caller
 * that may call the method, and no user or API key as the actor of a method for operators.
 * @param callers undefined: without mutual TLS, every call is permitted
 */
export function createCallCheck(
  { token, mutualTls }: RpcSecurity,
  callers: Callers | undefined,
  services: readonly DescService[],
): CallerCheck {
  const checks = [
    ...(token === undefined ? [] : [createTokenCheck(token)]),
    ...(mutualTls ? [createCallerCheck(callers ?? {})] : []),
    ...(callers ? [createOperatorCheck(callers, services)] : []),
  ];
  return (...call) => {
    for (const check of checks) check(...call);
  };
}

/**
 * A call without permission; the message is for the calling service. It has no public code: for the client of the
 * gateway, it is an internal error.
 */
export class CallerRefused extends Error {
  override readonly name: string = 'CallerRefused';
}

/** A call without the installation's token, or with another one. */
export class CallerUnknown extends CallerRefused {
  override readonly name = 'CallerUnknown';
}

/** Creates the check that a call carries the token. Throws {@link CallerUnknown}. */
function createTokenCheck(token: string): CallerCheck {
  const expected = Buffer.from(token);
  return (method, { metadata }) => {
    const given = Buffer.from(String(metadata.get(tokenKey)[0] ?? ''));
    if (given.length === expected.length && timingSafeEqual(given, expected)) return;
    throw new CallerUnknown(
      `A call of ${method} requires the token in services.json of DATA_DIR, which only the user who started the services can read.`,
    );
  };
}

/** Creates the permission check of a service. */
function createCallerCheck(callers: Callers): CallerCheck {
  const allowed = new Map(Object.entries(callers).map(([name, grants]) => [name, readGrants(grants)]));
  return (method, call, context) => {
    const names = namesOf(call);
    const grants = names.flatMap((name) => allowed.get(name) ?? []);
    if (grants.some(({ any }) => any)) return;
    const isFor = grants.some(({ users }) => users.has(method));
    const isForKey = grants.some(({ keys }) => keys.has(method));
    const isOwn = grants.some(({ own }) => own.has(method));
    const actors = new Set([context.actor, ...actorsOfItems(call.request)]);
    const [actor = ''] = actors;
    const mayAsItself = isOwn || (isForKey && context.principal !== undefined);
    if (actors.size === 1 && (actor === '' ? mayAsItself : isFor && userOfActor(actor) !== undefined)) return;
    const who = `The certificate of "${names.join(', ') || 'unknown'}"`;
    if (isFor) throw new CallerRefused(`${who} may call ${method} only for one user${isOwn ? ', or for none' : ''}.`);
    if (isForKey) throw new CallerRefused(`${who} may call ${method} only for an API key.`);
    if (isOwn) throw new CallerRefused(`${who} may call ${method} only in its own name.`);
    throw new CallerRefused(`${who} may not call ${method}.`);
  };
}

/**
 * Creates the check of {@link operatorMethods}. It applies to all callers, also without mutual TLS. Throws
 * `insufficient_role`.
 */
function createOperatorCheck(callers: Callers, services: readonly DescService[]): CallerCheck {
  const methods = operatorMethods(callers, services);
  return (method, _call, { actor, principal }) => {
    if (!methods.has(method)) return;
    if (userOfActor(actor) !== undefined || principal !== undefined) throw new RmsError('insufficient_role');
  };
}

/** Permissions of a caller: any call, or methods by name, in its own name, for users and for API keys. */
interface Grants {
  readonly any: boolean;
  readonly own: ReadonlySet<string>;
  readonly users: ReadonlySet<string>;
  readonly keys: ReadonlySet<string>;
}

function namedGrants(grants: Callers[string]): Grant[] {
  return grants === 'all' ? [] : grants.filter((grant) => grant !== 'all');
}

function readGrants(grants: Callers[string]): Grants {
  if (grants === 'all' || grants.includes('all'))
    return { any: true, own: new Set(), users: new Set(), keys: new Set() };
  const named = namedGrants(grants);
  return {
    any: false,
    own: pathsOf(named.flatMap((grant) => ('forUser' in grant || 'forKey' in grant ? [] : grant))),
    users: pathsOf(named.flatMap((grant) => ('forUser' in grant ? grant.forUser : []))),
    keys: pathsOf(named.flatMap((grant) => ('forKey' in grant ? grant.forKey : []))),
  };
}

function pathsOf(methods: readonly DescMethod[]): ReadonlySet<string> {
  return new Set(methods.map((method) => `${method.parent.typeName}/${method.name}`));
}

/** Returns a batch's actors. Its items are in `requests` and may have their own contexts. */
function actorsOfItems(request: unknown): string[] {
  const { requests } = (request ?? {}) as {
    requests?: readonly { readonly context?: { readonly actor?: string } }[];
  };
  return (requests ?? []).flatMap(({ context }) => (context ? (context.actor ?? '') : []));
}

/**
 * Returns the names that a certificate proves: the first label of each DNS name ("gateway" of "gateway.rms.svc"), or
 * the common name if it has no alternative names. The domain is ignored, so the CA must sign for these services only.
 */
export function callerNames(certificate: PeerCertificate | undefined): string[] {
  if (!certificate) return [];
  const { subject, subjectaltname } = certificate;
  if (!subjectaltname) return [subject?.CN ?? []].flat();
  // Node escapes commas within an entry and quotes unusual entries; no service has such a name.
  const names = subjectaltname
    .split(', ')
    .filter((entry) => entry.startsWith('DNS:'))
    .map((entry) => entry.slice('DNS:'.length).split('.')[0]?.toLowerCase() ?? '');
  return [...new Set(names)];
}

/** Names by connection. A connection has one certificate, and parsing it takes longer than many calls. */
const known = new WeakMap<object, readonly string[]>();

function namesOf(call: Call): readonly string[] {
  const session = sessionOf(call);
  const before = session && known.get(session);
  if (before) return before;
  const names = callerNames(call.getAuthContext()?.sslPeerCertificate);
  if (session) known.set(session, names);
  return names;
}

/**
 * Returns a call's connection. grpc-js has no public API for this; without these fields, the certificate is parsed
 * at every call.
 */
function sessionOf(call: Call): object | undefined {
  return (call as { call?: { stream?: { session?: object } } }).call?.stream?.session;
}
