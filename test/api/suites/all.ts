import type { Target } from '../support/shape.ts';
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
import { operatorSuite } from './operator.ts';
import { protocolSuite } from './protocol.ts';
import { requestsSuite } from './requests.ts';
import { resourcesSuite } from './resources.ts';
import { scopesSuite } from './scopes.ts';
import { webhookOperationsSuite } from './webhook-operations.ts';
import { webhookStatesSuite } from './webhook-states.ts';
import { webhooksSuite } from './webhooks.ts';
import { workspaceSuite } from './workspace.ts';
import { wrongRequestsSuite } from './wrong-requests.ts';

/** Settings for the services that {@link allSuites} run against: the tests' receivers listen on loopback. */
export const openSettings = {
  WEBHOOK_ALLOW_HTTP: 'true',
  WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
};

/** Registers every suite that runs with {@link openSettings}, for any shape. */
export function allSuites(target: () => Target): void {
  authenticationSuite(target);
  scopesSuite(target);
  resourcesSuite(target);
  limitsSuite(target);
  protocolSuite(target);
  wrongRequestsSuite(target);
  listsSuite(target);
  idempotencySuite(target);
  webhooksSuite(target);
  webhookOperationsSuite(target);
  apiKeysSuite(target);
  workspaceSuite(target);
  eventsSuite(target);
  feedSuite(target);
  deliveriesSuite(target);
  deliveryOperationsSuite(target);
  requestsSuite(target);
  webhookStatesSuite(target);
  isolationSuite(target);
  operatorSuite(target);
  alertsSuite(target);

  test('every operation of the OpenAPI document was exercised', () => {
    const { operations, seen } = target().contract;
    const succeeded = new Set(
      [...seen].filter((name) => / 2\d\d$/.test(name)).map((name) => name.slice(0, name.lastIndexOf(' '))),
    );
    expect(operations.filter((operation) => !succeeded.has(operation))).toEqual([]);
  });
}
