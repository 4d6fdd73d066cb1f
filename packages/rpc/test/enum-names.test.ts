import { AlertKind } from '@rms/proto/rms/alerts/v1/alert_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { enumNames } from '../src/enum-names.ts';

const environments = enumNames(Environment);

test('values have lower-case names, except "unspecified"', () => {
  expect(environments.names).toEqual(['live', 'sandbox']);
  expect(environments.toValue('live')).toBe(Environment.LIVE);
  expect(environments.toName(Environment.SANDBOX)).toBe('sandbox');
  expect(enumNames(AlertKind).toName(AlertKind.API_ERROR_RATE)).toBe('api_error_rate');
});

test('unspecified and unknown values have no name, and unknown names have no value', () => {
  expect(environments.toName(Environment.UNSPECIFIED)).toBeUndefined();
  expect(environments.toName(99 as Environment)).toBeUndefined();
  for (const name of ['unspecified', 'LIVE', '1', 'constructor']) {
    expect(() => environments.toValue(name as 'live')).toThrow(`no value is named ${name}`);
  }
});
