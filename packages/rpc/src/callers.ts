import type { PeerCertificate } from 'node:tls';
import type { DescMethod } from '@bufbuild/protobuf';
import { RmsError } from '@rms/errors';

/** Who may call what, by the name in the caller's certificate. Whoever is not named may call nothing. */
export type Callers = Readonly<Record<string, 'all' | readonly DescMethod[]>>;

/** Throws `caller_not_allowed` unless a caller with this certificate may call the method ("package.Service/Method"). */
export type CallerCheck = (method: string, certificate: PeerCertificate | undefined) => void;

/** What a service's callers are held to. */
export function createCallerCheck(callers: Callers): CallerCheck {
  const allowed = new Map(
    Object.entries(callers).map(([name, methods]) => [
      name,
      methods === 'all' ? methods : new Set(methods.map((method) => `${method.parent.typeName}/${method.name}`)),
    ]),
  );
  return (method, certificate) => {
    const names = callerNames(certificate);
    const may = (name: string) => {
      const methods = allowed.get(name);
      return methods === 'all' || methods?.has(method) === true;
    };
    if (names.some(may)) return;
    throw new RmsError('caller_not_allowed', {
      message: `The certificate of "${names.join(', ') || 'nobody'}" may not call ${method}.`,
    });
  };
}

/**
 * The names that a certificate stands for: the first label of each DNS name ("gateway" of "gateway.rms.svc"), or the
 * common name if it has no DNS names.
 */
export function callerNames(certificate: PeerCertificate | undefined): string[] {
  if (!certificate) return [];
  const names = (certificate.subjectaltname ?? '')
    .split(', ')
    .filter((entry) => entry.startsWith('DNS:'))
    .map((entry) => entry.slice('DNS:'.length).split('.')[0] as string);
  if (names.length > 0) return [...new Set(names)];
  const { CN } = certificate.subject ?? {};
  return [CN ?? []].flat();
}
