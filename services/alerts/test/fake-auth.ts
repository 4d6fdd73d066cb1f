import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { RmsError } from '@rms/errors';
import { type Key, KeySchema } from '@rms/proto/rms/auth/v1/key_pb';
import { type ListKeysRequestSchema, ListKeysResponseSchema } from '@rms/proto/rms/auth/v1/keys_service_pb';
import {
  type DeleteMailRequestsRequestSchema,
  DeleteMailRequestsResponseSchema,
  LeaseMailRequestsResponseSchema,
  type MailRequestSchema,
} from '@rms/proto/rms/auth/v1/mail_requests_service_pb';
import { type ListMembersRequestSchema, ListMembersResponseSchema } from '@rms/proto/rms/auth/v1/members_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { ListWorkspacesResponseSchema } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import type { Auth } from '../src/context.ts';

/** What alerts asks of auth, in memory. */
export class FakeAuth implements Auth {
  away = false;
  readonly #workspaces = new Map<string, { name: string; owners: string[] }>();
  readonly #keys: Key[] = [];
  mails: MessageInitShape<typeof MailRequestSchema>[] = [];
  /** Answers are lost: what was deleted is leased again. */
  losesDeletes = false;

  /** Makes a workspace known, with its owners' addresses; there is a viewer in it as well. */
  addWorkspace(id: string, name: string, ...owners: string[]): void {
    this.#workspaces.set(id, { name, owners });
  }

  setKeys(...keys: MessageInitShape<typeof KeySchema>[]): void {
    this.#keys.splice(0, Number.POSITIVE_INFINITY, ...keys.map((key) => create(KeySchema, key)));
  }

  #reach(): void {
    if (this.away) throw new RmsError('service_unavailable');
  }

  readonly keys = {
    listKeys: async ({ workspaceId }: MessageInitShape<typeof ListKeysRequestSchema>) => {
      this.#reach();
      return create(ListKeysResponseSchema, { keys: this.#keys.filter((key) => key.workspaceId === workspaceId) });
    },
    close() {},
  };

  readonly workspaces = {
    listWorkspaces: async () => {
      this.#reach();
      const workspaces = [...this.#workspaces].map(([id, { name }]) => ({ id, name }));
      return create(ListWorkspacesResponseSchema, { workspaces });
    },
    close() {},
  };

  readonly members = {
    listMembers: async ({ workspaceId = '' }: MessageInitShape<typeof ListMembersRequestSchema>) => {
      this.#reach();
      const owners = this.#workspaces.get(workspaceId)?.owners ?? [];
      const members = owners.map((email) => ({ email, role: Role.OWNER }));
      return create(ListMembersResponseSchema, {
        members: [...members, { email: 'viewer@example.com', role: Role.VIEWER }],
      });
    },
    close() {},
  };

  readonly mailRequests = {
    leaseMailRequests: async () => {
      this.#reach();
      return create(LeaseMailRequestsResponseSchema, { mailRequests: this.mails });
    },
    deleteMailRequests: async ({ ids = [] }: MessageInitShape<typeof DeleteMailRequestsRequestSchema>) => {
      this.#reach();
      if (this.losesDeletes) {
        this.losesDeletes = false;
        throw new RmsError('timeout');
      }
      this.mails = this.mails.filter(({ id = '' }) => !ids.includes(id));
      return create(DeleteMailRequestsResponseSchema);
    },
    close() {},
  };
}
