import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampNow } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import {
  type DeleteEmailRequestsRequestSchema,
  DeleteEmailRequestsResponseSchema,
  type EmailRequestSchema,
  LeaseEmailRequestsResponseSchema,
} from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import { type Key, KeySchema } from '@rms/proto/rms/auth/v1/key_pb';
import { type ListKeysRequestSchema, ListKeysResponseSchema } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { type ListMembersRequestSchema, ListMembersResponseSchema } from '@rms/proto/rms/auth/v1/members_service_pb';
import {
  type SummarizeFailuresRequestSchema,
  SummarizeFailuresResponseSchema,
} from '@rms/proto/rms/auth/v1/requests_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import {
  type GetWorkspaceRequestSchema,
  GetWorkspaceResponseSchema,
  type ListWorkspacesRequestSchema,
  ListWorkspacesResponseSchema,
} from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { Scope } from '@rms/proto/rms/common/v1/common_pb';
import type { Auth } from '../src/context.ts';

const viewer = 'viewer@example.com';
/** Fields that every key has. */
const asCreated = { createTime: timestampNow(), scope: Scope.WRITE, version: 1n };

/** Returns the user ID with this address. */
export function userIdOf(email: string): string {
  return `usr_${email}`;
}

/** An in-memory auth service with the methods that alerts calls. */
export class FakeAuth implements Auth {
  unavailable = false;
  /** Workspaces with keys that cannot be listed. */
  readonly failing = new Set<string>();
  readonly #workspaces = new Map<string, { name: string; owners: string[] }>();
  readonly #keys: Key[] = [];
  emails: MessageInitShape<typeof EmailRequestSchema>[] = [];
  /** Makes the next deletion fail without effect, so that the emails are leased again. */
  losesDeletes = false;

  /** Adds a workspace with these owners and the viewer viewer@example.com. */
  addWorkspace(id: string, name: string, ...owners: string[]): void {
    this.#workspaces.set(id, { name, owners });
  }

  setKeys(...keys: MessageInitShape<typeof KeySchema>[]): void {
    this.#keys.splice(0, Number.POSITIVE_INFINITY, ...keys.map((key) => create(KeySchema, { ...asCreated, ...key })));
  }

  #reach(): void {
    if (this.unavailable) throw new RmsError('service_unavailable');
  }

  /** Failed requests, and the periods that they were read of. */
  failures: MessageInitShape<typeof SummarizeFailuresResponseSchema> = {};
  readonly summarized: MessageInitShape<typeof SummarizeFailuresRequestSchema>[] = [];

  readonly requests = {
    summarizeFailures: async (request: MessageInitShape<typeof SummarizeFailuresRequestSchema>) => {
      this.#reach();
      this.summarized.push(request);
      return create(SummarizeFailuresResponseSchema, this.failures);
    },
    close() {},
  };

  readonly keys = {
    /** Pages of two keys. */
    listKeys: async ({ workspaceId, pageToken }: MessageInitShape<typeof ListKeysRequestSchema>) => {
      this.#reach();
      if (this.failing.has(workspaceId ?? '')) throw new RmsError('internal_error');
      const all = this.#keys.filter((key) => key.workspaceId === workspaceId);
      const start = Number(pageToken || '0');
      const nextPageToken = start + 2 < all.length ? String(start + 2) : '';
      return create(ListKeysResponseSchema, { keys: all.slice(start, start + 2), nextPageToken });
    },
    close() {},
  };

  readonly workspaces = {
    /** Pages of two workspaces. */
    listWorkspaces: async ({ pageToken }: MessageInitShape<typeof ListWorkspacesRequestSchema>) => {
      this.#reach();
      const all = [...this.#workspaces].map(([id, { name }]) => ({ id, name }));
      const start = Number(pageToken || '0');
      const nextPageToken = start + 2 < all.length ? String(start + 2) : '';
      return create(ListWorkspacesResponseSchema, { workspaces: all.slice(start, start + 2), nextPageToken });
    },
    getWorkspace: async ({ workspaceId: id = '' }: MessageInitShape<typeof GetWorkspaceRequestSchema>) => {
      this.#reach();
      const found = this.#workspaces.get(id);
      if (!found) throw new RmsError('not_found');
      return create(GetWorkspaceResponseSchema, { workspace: { id, name: found.name } });
    },
    close() {},
  };

  readonly members = {
    listMembers: async ({ workspaceId = '' }: MessageInitShape<typeof ListMembersRequestSchema>) => {
      this.#reach();
      const owners = this.#workspaces.get(workspaceId)?.owners ?? [];
      const members = owners.map((email) => ({ userId: userIdOf(email), email, role: Role.OWNER }));
      return create(ListMembersResponseSchema, {
        members: [...members, { userId: userIdOf(viewer), email: viewer, role: Role.VIEWER }],
      });
    },
    close() {},
  };

  readonly emailRequests = {
    leaseEmailRequests: async () => {
      this.#reach();
      return create(LeaseEmailRequestsResponseSchema, { emailRequests: this.emails });
    },
    deleteEmailRequests: async ({ ids = [] }: MessageInitShape<typeof DeleteEmailRequestsRequestSchema>) => {
      this.#reach();
      if (this.losesDeletes) {
        this.losesDeletes = false;
        throw new RmsError('timeout');
      }
      this.emails = this.emails.filter(({ id = '' }) => !ids.includes(id));
      return create(DeleteEmailRequestsResponseSchema);
    },
    close() {},
  };
}
