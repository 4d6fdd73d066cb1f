import { timestampDate } from '@bufbuild/protobuf/wkt';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import type {
  KeyUsesService,
  ReportedKeyRefusal as RefusalMessage,
  ReportedKeyUse,
} from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import type { Handlers } from '@rms/rpc';
import { addRefusals, type ReportedRefusal } from '../key/refusal-queries.ts';
import { trimUsesOf } from '../key/trim-uses.ts';
import { addUses, type ReportedUse } from '../key/use-queries.ts';
import { checkBatchSize, type HandlerParts, maxReported } from './handler.ts';

const maxTextLength = 256;

export function batchReportKeyUses({ pool }: HandlerParts): Handlers<typeof KeyUsesService>['batchReportKeyUses'] {
  return async ({ uses, refusals }) => {
    checkBatchSize(uses, maxReported);
    checkBatchSize(refusals, maxReported);
    if (refusals.length > 0) await addRefusals(pool, refusals.map(toReportedRefusal));
    if (uses.length > 0) await trimUsesOf(pool, await addUses(pool, uses.map(toReportedUse)));
    return {};
  };
}

function toReportedRefusal({
  workspaceId,
  environment,
  keyId,
  refuseTime,
  errorCode,
}: RefusalMessage): ReportedRefusal {
  return {
    workspaceId,
    environment: fromEnvironmentMessage(environment),
    keyId,
    refusedAt: refuseTime ? timestampDate(refuseTime) : new Date(),
    errorCode: errorCode.slice(0, maxTextLength),
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
