import type { Target } from '../support/shape.ts';
import { alertOperationsSuite } from './alert-operations.ts';
import { alertsSuite } from './alerts.ts';
import { apiKeysSuite } from './api-keys.ts';
import { authenticationSuite } from './authentication.ts';
import { deliveriesSuite } from './deliveries.ts';
import { deliveryOperationsSuite } from './delivery-operations.ts';
import { eventsSuite } from './events.ts';
import { feedSuite } from './feed.ts';
import { idempotencySuite } from './idempotency.ts';
import { isolationSuite } from './isolation.ts';
import { limitsSuite } from './limits.ts';
import { listsSuite } from './lists.ts';
import { membersSuite } from './members.ts';
import { metricsSuite } from './metrics.ts';
import { operationalEventsSuite } from './operational-events.ts';
import { operatorSuite } from './operator.ts';
import { portalSuite } from './portal.ts';
import { protocolSuite } from './protocol.ts';
import { requestsSuite } from './requests.ts';
import { resourcesSuite } from './resources.ts';
import { roundTripsSuite } from './round-trips.ts';
import { scopesSuite } from './scopes.ts';
import { webhookFiltersSuite } from './webhook-filters.ts';
import { webhookOperationsSuite } from './webhook-operations.ts';
import { webhookSecretsSuite } from './webhook-secrets.ts';
import { webhookSettingsSuite } from './webhook-settings.ts';
import { webhookStatesSuite } from './webhook-states.ts';
import { webhooksSuite } from './webhooks.ts';
import { workspaceSuite } from './workspace.ts';
import { wrongRequestsSuite } from './wrong-requests.ts';

/** Settings for the services that {@link allSuites} run against: the tests' receivers listen on loopback. */
export const openSettings = {
  WEBHOOK_ALLOW_HTTP: 'true',
  WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
};

/** Part of the suites, and the OpenAPI operations that it exercises. */
export interface Part {
  readonly suites: readonly ((target: () => Target) => void)[];
  /** @param operation "METHOD template" */
  owns(operation: string): boolean;
}

const isOfEvents = (operation: string) => /^[A-Z]+ \/v1\/(webhooks|events|deliveries|replays)\b/.test(operation);

/** Suites about resources, keys, requests in general, and alerts. */
export const requestsPart: Part = {
  suites: [
    authenticationSuite,
    scopesSuite,
    resourcesSuite,
    limitsSuite,
    protocolSuite,
    wrongRequestsSuite,
    listsSuite,
    idempotencySuite,
    apiKeysSuite,
    workspaceSuite,
    requestsSuite,
    metricsSuite,
    isolationSuite,
    operatorSuite,
    alertsSuite,
    alertOperationsSuite,
    roundTripsSuite,
    membersSuite,
    portalSuite,
  ],
  owns: (operation) => !isOfEvents(operation),
};

/** Suites about webhooks, events and deliveries. */
export const eventsPart: Part = {
  suites: [
    webhooksSuite,
    webhookSettingsSuite,
    webhookSecretsSuite,
    webhookFiltersSuite,
    webhookOperationsSuite,
    eventsSuite,
    feedSuite,
    deliveriesSuite,
    deliveryOperationsSuite,
    webhookStatesSuite,
    operationalEventsSuite,
  ],
  owns: isOfEvents,
};

/** Returns a function that registers the suites of these parts, for any shape with {@link openSettings}. */
export function suitesOf(...parts: readonly Part[]): (target: () => Target) => void {
  return (target) => {
    for (const suite of parts.flatMap(({ suites }) => suites)) suite(target);

    test('every operation of the OpenAPI document was exercised', () => {
      const { operations, seen } = target().contract;
      const succeeded = new Set(
        [...seen].filter((name) => / 2\d\d$/.test(name)).map((name) => name.slice(0, name.lastIndexOf(' '))),
      );
      const own = operations.filter((operation) => parts.some((part) => part.owns(operation)));
      expect(own.length).toBeGreaterThan(0);
      expect(own.filter((operation) => !succeeded.has(operation))).toEqual([]);
    });
  };
}

/** Registers every suite that runs with {@link openSettings}, for any shape. */
export const allSuites = suitesOf(requestsPart, eventsPart);
