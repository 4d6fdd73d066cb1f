import { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { SecretsService } from '@rms/proto/rms/alerts/v1/secrets_service_pb';
import { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { WorkspaceDeletionService } from '@rms/proto/rms/alerts/v1/workspace_deletion_service_pb';
import { operatorMethods } from '@rms/rpc';
import { callEachMethod, callerKinds } from '@rms/testkit';
import { callers } from '../src/callers.ts';
import { startAlerts } from './support.ts';

const services = [AlertsService, SecretsService, UsageService, WorkspaceDeletionService];

/** Methods that only `rms` may call, and only for an operator. */
const forOperators: readonly string[] = [
  'rms.alerts.v1.SecretsService/ReencryptSecrets',
  'rms.alerts.v1.WorkspaceDeletionService/DeleteContents',
];

describe('methods for operators', () => {
  let service: Awaited<ReturnType<typeof startAlerts>>;
  beforeAll(async () => {
    service = await startAlerts();
  });
  afterAll(() => service?.stop());

  test('are the methods that the table of callers grants to no service', () => {
    expect([...operatorMethods(callers, services)].sort()).toEqual(forOperators);
  });

  test.each(['user', 'key'] as const)('reject a %s', async (kind) => {
    const results = await callEachMethod(service.address, services, callerKinds[kind]);
    const refused = Object.keys(results).filter((method) => results[method] === 'insufficient_role');
    expect(refused).toEqual(expect.arrayContaining(forOperators));
    const others = Object.keys(results).filter((method) => !forOperators.includes(method));
    expect(others).toHaveLength(services.flatMap(({ methods }) => methods).length - forOperators.length);
  });

  test.each(['operator', 'service'] as const)('accept an %s', async (kind) => {
    const results = await callEachMethod(service.address, services, callerKinds[kind]);
    for (const method of forOperators) expect(results[method]).not.toBe('insufficient_role');
  });
});
