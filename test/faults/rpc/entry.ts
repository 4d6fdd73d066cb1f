import type { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { Owned } from './owned.ts';
import type { Rpc } from './rpc.ts';

/** Whose data a call is about, as the caller says. */
export interface Caller {
  readonly workspaceId: string;
  readonly environment: Environment;
}

/** One call with the ids of the owner, and what anybody else gets: the code of a refusal, or a part of the answer. */
export type Attempt = readonly [call: () => Promise<unknown>, outcome: string | object];

/** What a method does for a caller who names things of somebody else. */
export type Entry =
  | {
      /** "tenant": a workspace and an environment; "workspace": a workspace, over both environments. */
      readonly keyedBy: 'tenant' | 'workspace';
      /** What the proto says of an unspecified environment; set where it is keyed by one. */
      readonly unspecified?: 'both' | 'refused';
      /** What the proto says of an empty workspace, where that is not a mistake. */
      readonly emptyWorkspace?: string;
      readonly attempts: (rpc: Rpc, as: Caller, owned: Owned) => readonly Attempt[];
    }
  | {
      /** It names no workspace: for operators and our own services, who may see all of the installation. */
      readonly keyedBy: 'installation';
      readonly why: string;
      /** Its answer is about whoever's things are named. */
      readonly reveals?: true;
      /** Calls that must leave the owner's data as they are. */
      readonly attempts?: (rpc: Rpc, owned: Owned) => readonly Attempt[];
    };

/** One entry for each method; the compiler misses none either. */
export type Entries<S extends { method: object }> = Readonly<Record<keyof S['method'], Entry>>;

/** An item of a batch that was not found. */
export const notFoundItem = { result: { case: 'error', value: { code: 5 } } };
