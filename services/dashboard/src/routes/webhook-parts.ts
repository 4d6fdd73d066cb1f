import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import type { RetryPolicySchema, Webhook } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { z } from 'zod';

/** 30 days: longer delays are none. */
const longestSeconds = 30 * 86_400;
const seconds = z.number().min(0).max(longestSeconds);

/** Own delays, or a number of retries between two delays. */
export const retryPolicyBody = z.strictObject({
  max_retries: z.int().min(0).max(50),
  initial_delay_seconds: seconds,
  max_delay_seconds: seconds,
  delays_seconds: z.array(seconds).max(50).nullable(),
});

export const webhookBody = {
  url: z.string().max(4_096),
  events: z.array(z.string().max(100)).max(20),
};

export function toRetryPolicy(policy: z.infer<typeof retryPolicyBody>): MessageInitShape<typeof RetryPolicySchema> {
  const duration = (value: number) => durationFromMs(Math.round(value * 1000));
  return policy.delays_seconds !== null && policy.delays_seconds.length > 0
    ? { delays: policy.delays_seconds.map(duration) }
    : {
        maxRetries: policy.max_retries,
        initialDelay: duration(policy.initial_delay_seconds),
        maxDelay: duration(policy.max_delay_seconds),
      };
}

/** What webhooks must put into its answer. */
export function presentWebhook(webhook: Webhook | undefined): Webhook {
  if (!webhook) throw new Error('webhooks answered without a webhook');
  return webhook;
}
