import type { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import type { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import type { RpcClient } from '@rms/rpc';
import { isMailAddress, type Rule } from '../rule/rule.ts';

/** Asks auth who the people of a workspace are. */
export interface People {
  /** The e-mail addresses of its owners, of those who may sign in. */
  ownersOf(workspaceId: string): Promise<string[]>;
  /** Its name as people know it; its id if there is no such workspace. */
  nameOf(workspaceId: string): Promise<string>;
}

/** Many alerts at once ask for the names of workspaces once. */
const namesForMs = 30_000;

export function createPeople(
  members: Pick<RpcClient<typeof MembersService>, 'listMembers'>,
  workspaces: Pick<RpcClient<typeof WorkspacesService>, 'listWorkspaces'>,
): People {
  let known: { names: Map<string, string>; atMs: number } | undefined;
  return {
    async ownersOf(workspaceId) {
      const { members: all } = await members.listMembers({ workspaceId });
      return all.filter(({ role, disabled }) => role === Role.OWNER && !disabled).map(({ email }) => email);
    },
    async nameOf(workspaceId) {
      if (!known?.names.has(workspaceId) || Date.now() - known.atMs > namesForMs) {
        const { workspaces: all } = await workspaces.listWorkspaces({});
        known = { names: new Map(all.map(({ id, name }) => [id, name])), atMs: Date.now() };
      }
      return known.names.get(workspaceId) ?? workspaceId;
    },
  };
}

const mostAddresses = 50;

/** To whom mails of a rule go: each address once, without those that have unsubscribed. */
export function addressesOf(
  rule: Pick<Rule, 'recipients' | 'toOwners'>,
  owners: readonly string[],
  unsubscribed: readonly string[],
): string[] {
  const refused = new Set(unsubscribed.map((address) => address.toLowerCase()));
  const all = new Map<string, string>();
  for (const address of [...rule.recipients, ...(rule.toOwners ? owners : [])]) {
    const plain = address.toLowerCase();
    if (!refused.has(plain) && !all.has(plain) && isMailAddress(address)) all.set(plain, address);
  }
  return [...all.values()].slice(0, mostAddresses);
}
