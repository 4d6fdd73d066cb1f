import type { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { Owned } from './owned.ts';
import type { Rpc } from './rpc.ts';

/** Workspace and environment that a caller sends. */
export interface Caller {
  readonly workspaceId: string;
  readonly environment: Environment;
}

/** One call with ids of the owner, and the outcome for other callers: an error code, or part of the response. */
export type Attempt = readonly [call: () => Promise<unknown>, outcome: string | object];

/** Calls of a method by callers that name objects of the owner. */
export type Entry =
  | {
      /** "tenant": a workspace and an environment. "workspace": a workspace, both environments. */
      readonly keyedBy: 'tenant' | 'workspace';
      /** Documented meaning of an unspecified environment; set if the method is keyed by one. */
      readonly unspecified?: 'both' | 'refused';
      /** Documented meaning of an empty workspace, if it is allowed. */
      readonly emptyWorkspace?: string;
      readonly attempts: (rpc: Rpc, as: Caller, owned: Owned) => readonly Attempt[];
    }
  | {
      /** Not keyed by workspace: for operators and our own services, which may access the whole installation. */
      readonly keyedBy: 'installation';
      readonly why: string;
      /** The response may contain data of any workspace. */
      readonly reveals?: true;
      /** Calls that must not change the owner's data. */
      readonly attempts?: (rpc: Rpc, owned: Owned) => readonly Attempt[];
    };

/** One entry per method; the compiler reports missing ones. */
export type Entries<S extends { method: object }> = Readonly<Record<keyof S['method'], Entry>>;

/** A batch item that was not found. */
export const notFoundItem = { result: { case: 'error', value: { code: 5 } } };
