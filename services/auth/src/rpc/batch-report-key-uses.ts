import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { KeyUsesService, ReportedKeyUse } from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import type { Handlers } from '@rms/rpc';
import { fromEnvironmentMessage } from '@rms/tenant';
import { trimUsesOf } from '../key/trim-uses.ts';
import { addUses, type ReportedUse } from '../key/use-queries.ts';
import { checkBatchSize, type HandlerParts } from './handler.ts';

const batchLimit = 10_000;
const maxTextLength = 256;

export function batchReportKeyUses({ pool }: HandlerParts): Handlers<typeof KeyUsesService>['batchReportKeyUses'] {
  return async ({ uses }) => {
    checkBatchSize(uses, batchLimit);
    if (uses.length > 0) await trimUsesOf(pool, await addUses(pool, uses.map(toReportedUse)));
    return {};
  };
}

function toReportedUse(use: ReportedKeyUse): ReportedUse {
  const { workspaceId, environment, keyId, address, userAgent, lastUseTime, requests } = use;
  return {
    workspaceId,
    environment: fromEnvironmentMessage(environment),
    keyId,
    address: address.slice(0, maxTextLength),
    userAgent: userAgent.slice(0, maxTextLength),
    lastUsedAt: lastUseTime ? timestampDate(lastUseTime) : new Date(),
    requests: Number(requests),
  };
}
