import { toScope } from '@rms/base/tenant';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers } from '@rms/rpc';
import { countWebhooks as count } from '../webhook/webhook-queries.ts';
import type { HandlerParts } from './parts.ts';

const maxCounted = 100_000;

/** Returns the number of a workspace's webhooks, up to 100,000, and the limit of workspaces without their own. */
export function countWebhooks({ pool, maxWebhooks }: HandlerParts): Handlers<typeof WebhooksService>['countWebhooks'] {
  return async (request) => {
    const { workspaceId } = toScope({ ...request, environment: Environment.UNSPECIFIED });
    return {
      count: BigInt(await count(pool, workspaceId, maxCounted)),
      defaultMaxWebhooks: BigInt(maxWebhooks),
    };
  };
}
