import { newId } from '@rms/base/ids';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { authenticator, newAddress, type TestAccounts, type TestUser } from './user-support.ts';

export type AuditScene = ReturnType<typeof auditScene>;

/**
 * Creates the objects for an audit log test, and remembers every secret that the service returns.
 * @param the returns the service
 */
export function auditScene(the: () => TestAccounts) {
  /** Values that no entry may contain. */
  const secrets = new Set<string>();
  const operator = (requestId: string) => ({ context: { actor: 'operator:alice@laptop', requestId } });
  const by = ({ id, email }: Pick<TestUser, 'id' | 'email'>, requestId = newId('req')) => ({
    context: { actor: `user:${id}`, actorName: email, clientAddress: newAddress(), requestId },
  });
  const anyone = (requestId: string) => ({ context: { clientAddress: newAddress(), requestId } });
  const newUser = async (more: Parameters<TestAccounts['newUser']>[0] = {}) => {
    const user = await the().newUser(more);
    secrets.add(user.password);
    await the().takeEmails();
    return user;
  };
  const newKey = async (workspaceId: string, more: object = {}, context?: { readonly context: object }) => {
    const request = { workspaceId, environment: Environment.LIVE, scope: Scope.WRITE, name: 'ci', ...more };
    const { key, keyValue } = await the().keys.createKey(request, context);
    secrets.add(keyValue.slice(12));
    return key?.id ?? '';
  };
  const invite = async (owner: TestUser, email: string, context = by(owner), role = Role.VIEWER) => {
    const { workspaceId } = owner;
    const requested = { workspaceId, email, role, returnToken: true };
    const { invitation, token } = await the().invitations.createInvitation(requested, context);
    secrets.add(token ?? '');
    return { id: invitation?.id ?? '', token: token ?? '' };
  };
  /** Returns the token in the email to an address. */
  const tokenTo = async (email: string) => {
    const sent = (await the().takeEmails()).find(({ to }) => to === email)?.content.value;
    if (!sent || !('token' in sent)) throw new Error('no link');
    secrets.add(sent.token);
    return sent.token;
  };
  const enrol = async (user: TestUser, requestId?: string) => {
    const proof = { userId: user.id, password: user.password };
    const { secret } = await the().secondFactors.beginSecondFactor(proof, by(user));
    const device = authenticator(secret);
    const code = device.at(Date.now());
    const confirmed = await the().secondFactors.confirmSecondFactor({ userId: user.id, code }, by(user, requestId));
    for (const one of [secret, ...confirmed.recoveryCodes]) secrets.add(one);
    return { recoveryCodes: confirmed.recoveryCodes };
  };
  const password = 'quite another secret';
  secrets.add(password);
  return { the, secrets, operator, by, anyone, newUser, newKey, invite, tokenTo, enrol, password };
}
