import { create } from '@bufbuild/protobuf';
import { KeySchema } from '@rms/proto/rms/auth/v1/key_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { timestampFromMs } from '@rms/rpc';
import { keyDocument } from '../src/index.ts';
import { isValidKey } from '../src/rules.ts';

const [past, future] = [-1, 1].map((hours) => timestampFromMs(Date.now() + hours * 3_600_000));
const present = { environment: Environment.LIVE, createTime: timestampFromMs(0) };

test.each([
  ['active', true, {}],
  ['active', true, { expireTime: future }],
  ['rolled', true, { rollTime: future }],
  ['rolled', false, { rollTime: past }],
  ['expired', false, { expireTime: past }],
  ['expired', false, { expireTime: past, rollTime: future }],
  ['revoked', false, { revokeTime: past, expireTime: past, rollTime: past }],
] as const)('a key is %s, and accepted: %s', (status, valid, times) => {
  const document = keyDocument(create(KeySchema, { ...present, ...times } as typeof present));
  expect([document.status, isValidKey(document)]).toEqual([status, valid]);
});
