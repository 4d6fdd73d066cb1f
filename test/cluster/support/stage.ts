import type { OtlpCollector } from '@rms/testkit';
import type { Dispatcher } from 'undici';
import type { Account } from '../../api/support/shape.ts';
import type { Release } from './release.ts';
import type { Stores } from './stores.ts';
import type { Tools } from './tools.ts';

/** The suites' environment: one release, installed once. */
export interface Stage {
  readonly release: Release;
  readonly tools: Tools;
  readonly ingress: Ingress;
  readonly stores: Stores;
  /** Receives the release's spans, until an upgrade disables tracing. */
  readonly collector: OtlpCollector;
  /** Image of the release; it contains Node. */
  readonly image: string;
  /** Values that must appear only in Secrets. */
  readonly secrets: readonly string[];
  /** "kind/name" of every cluster-scoped object before the installation. */
  readonly clusterObjects: readonly string[];
  newAccount(): Promise<Account>;
}

/** The API as seen from outside the cluster. */
export interface Ingress {
  /** URL of the ingress controller. */
  readonly url: string;
  readonly hosts: { readonly live: string; readonly test: string };
  /** Sends every request to the controller, regardless of the host in its URL. */
  readonly dispatcher: Dispatcher;
}
