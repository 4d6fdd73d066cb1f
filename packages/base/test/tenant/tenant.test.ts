import { environmentOf, fromEnvironmentMessage, toEnvironmentMessage, toScope, toTenant } from '@rms/base/tenant';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';

const unknown = 99 as Environment;
const invalid = expect.objectContaining({ code: 'invalid_request' });
const thrownBy = (work: () => unknown) => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

test('environments are converted in both directions', () => {
  for (const environment of ['live', 'sandbox'] as const) {
    expect(fromEnvironmentMessage(toEnvironmentMessage(environment))).toBe(environment);
    expect(environmentOf(toEnvironmentMessage(environment))).toBe(environment);
  }
});

test('an unspecified or unknown environment is invalid, never the sandbox', () => {
  for (const environment of [Environment.UNSPECIFIED, unknown]) {
    expect(environmentOf(environment)).toBeUndefined();
    expect(thrownBy(() => fromEnvironmentMessage(environment))).toEqual(invalid);
    expect(thrownBy(() => toTenant({ workspaceId: 'ws_1', environment }))).toEqual(invalid);
  }
});

test('a scope contains both environments only if the environment is unspecified', () => {
  const scopeOf = (environment: Environment) => thrownBy(() => toScope({ workspaceId: 'ws_1', environment }));
  expect(scopeOf(Environment.LIVE)).toEqual({ workspaceId: 'ws_1', environments: ['live'] });
  expect(scopeOf(Environment.SANDBOX)).toEqual({ workspaceId: 'ws_1', environments: ['sandbox'] });
  expect(scopeOf(Environment.UNSPECIFIED)).toEqual({ workspaceId: 'ws_1', environments: ['live', 'sandbox'] });
  expect(scopeOf(unknown)).toEqual(invalid);
});

test('a tenant and a scope require a workspace', () => {
  for (const workspaceId of ['', 'x'.repeat(65)]) {
    const request = { workspaceId, environment: Environment.LIVE };
    expect(thrownBy(() => toTenant(request))).toEqual(invalid);
    expect(thrownBy(() => toScope(request))).toEqual(invalid);
  }
});
