import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { KeyUsesService, ReportedKeyUse } from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import type { Handlers } from '@rms/rpc';
import { fromEnvironmentMessage } from '../key/key-message.ts';
import { addUses, type ReportedUse } from '../key/use-queries.ts';
import { checkBatchSize, type HandlerParts, translated } from './handler.ts';

const batchLimit = 10_000;
const longestText = 256;

export function batchReportKeyUses({ pool }: HandlerParts): Handlers<typeof KeyUsesService>['batchReportKeyUses'] {
  return ({ uses }) =>
    translated(async () => {
      checkBatchSize(uses, batchLimit);
      if (uses.length > 0) await addUses(pool, uses.map(toReportedUse));
      return {};
    });
}

function toReportedUse(use: ReportedKeyUse): ReportedUse {
  const { workspaceId, environment, keyId, address, userAgent, lastUseTime, requests } = use;
  return {
    workspaceId,
    environment: fromEnvironmentMessage(environment),
    keyId,
    address: address.slice(0, longestText),
    userAgent: userAgent.slice(0, longestText),
    lastUsedAt: lastUseTime ? timestampDate(lastUseTime) : new Date(),
    requests: Number(requests),
  };
}
