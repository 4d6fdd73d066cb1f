import type { DescMethod, MessageInitShape } from '@bufbuild/protobuf';
import type { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { CallOptions } from '@rms/rpc';
import type { Owned } from './owned.ts';
import type { Services } from './rpc.ts';

/** Workspace and environment that a caller sends. */
export interface Caller {
  readonly workspaceId: string;
  readonly environment: Environment;
}

/** A call with IDs of the owner, and its outcome for other callers: an error code, or a part of the response. */
type Call<M extends DescMethod> = readonly [
  /** The caller's workspace and environment are added, unless the request has its own. */
  request: MessageInitShape<M['input']>,
  outcome: string | object,
  options?: CallOptions,
];

type Calls<M extends DescMethod> = (owned: Owned, as: Caller) => readonly Call<M>[];

/** Calls of a method by callers that name objects of the owner. */
export interface Entry<M extends DescMethod = DescMethod> {
  /**
   * "tenant": a workspace and an environment. "workspace": a workspace, both environments. "installation": not keyed by
   * workspace, for operators and our own services, which may access the whole installation.
   */
  readonly keyedBy: 'tenant' | 'workspace' | 'installation';
  /** Documented meaning of an unspecified environment; set if the method is keyed by one. */
  readonly unspecified?: 'both' | 'refused';
  /** Documented meaning of an empty workspace, if it is allowed. */
  readonly emptyWorkspace?: string;
  /** Why the method is not keyed by workspace. */
  readonly why?: string;
  /** The response may contain data of any workspace. */
  readonly reveals?: boolean;
  readonly calls: Calls<M>;
}

/** The entries of services, by the name of their client. The compiler reports missing methods. */
export type Entries<Name extends keyof Services> = {
  readonly [Each in Name]: {
    readonly [Method in keyof Services[Each]['method']]: Services[Each]['method'][Method] extends infer M extends
      DescMethod
      ? Entry<M>
      : never;
  };
};

type More = Pick<Entry, 'emptyWorkspace' | 'reveals'>;

/** A method that is keyed by a tenant. Without an environment it applies to both. */
export function inBoth<M extends DescMethod>(calls: Calls<M>, more: More = {}): Entry<M> {
  return { keyedBy: 'tenant', unspecified: 'both', calls, ...more };
}

/** A method that is keyed by a tenant, and refuses calls without an environment. */
export function inOne<M extends DescMethod>(calls: Calls<M>): Entry<M> {
  return { keyedBy: 'tenant', unspecified: 'refused', calls };
}

/** A method that is keyed by a workspace. */
export function inWorkspace<M extends DescMethod>(calls: Calls<M>): Entry<M> {
  return { keyedBy: 'workspace', calls };
}

/** A method that is not keyed by a workspace, with the reason. Its calls must not change the owner's data. */
export function ofInstallation<M extends DescMethod>(
  why: string,
  calls: Calls<M> = () => [],
  more: More = {},
): Entry<M> {
  return { keyedBy: 'installation', why, calls, ...more };
}

/** A batch item that was not found. */
export const notFoundItem = { result: { case: 'error', value: { code: 5 } } };
