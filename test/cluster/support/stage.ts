import type { OtlpCollector } from '@rms/testkit';
import type { Dispatcher } from 'undici';
import type { Account } from '../../api/support/shape.ts';
import type { Release } from './release.ts';
import type { Stores } from './stores.ts';
import type { Tools } from './tools.ts';

/** What the suites work on, in their order: one release, installed once. */
export interface Stage {
  readonly release: Release;
  readonly tools: Tools;
  readonly ingress: Ingress;
  readonly stores: Stores;
  /** Gets the spans of the release, until an upgrade switches tracing off. */
  readonly collector: OtlpCollector;
  /** That of the release; it has node. */
  readonly image: string;
  /** What must be nowhere but in Secrets. */
  readonly secrets: readonly string[];
  /** "kind/name" of what was in the cluster, outside of namespaces, before the installation. */
  readonly clusterObjects: readonly string[];
  newAccount(): Promise<Account>;
}

/** The API as the world sees it. */
export interface Ingress {
  /** Where its controller listens. */
  readonly url: string;
  readonly hosts: { readonly live: string; readonly test: string };
  /** Takes every request to the controller, whatever host its URL names. */
  readonly dispatcher: Dispatcher;
}
