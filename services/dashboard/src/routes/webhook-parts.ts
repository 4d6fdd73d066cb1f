import type { MessageInitShape } from '@bufbuild/protobuf';
import type { RateLimitSchema, RetryPolicySchema, Webhook } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { durationFromMs } from '@rms/rpc';
import { z } from 'zod';

/** Maximum delay, as in the webhooks service: 7 days. */
const maxSeconds = 7 * 86_400;
const seconds = z.number().min(0).max(maxSeconds);

/** Retry policy: explicit delays, or a number of retries between an initial and a maximum delay. */
export const retryPolicyBody = z.strictObject({
  max_retries: z.int().min(0).max(50),
  initial_delay_seconds: seconds,
  max_delay_seconds: seconds,
  delays_seconds: z.array(seconds).max(50).nullable(),
});

/** Rate limit. `requests_per_second` is null: no limit per second. */
export const rateLimitBody = z.strictObject({
  max_concurrency: z.int().min(1).max(1_000),
  requests_per_second: z.number().min(0.01).max(10_000).nullable(),
});

export const webhookBody = {
  url: z.string().max(4_096),
  events: z.array(z.string().max(100)).max(20),
};

export function toRetryPolicy(policy: z.infer<typeof retryPolicyBody>): MessageInitShape<typeof RetryPolicySchema> {
  const duration = (value: number) => durationFromMs(value * 1000);
  return policy.delays_seconds !== null && policy.delays_seconds.length > 0
    ? { delays: policy.delays_seconds.map(duration) }
    : {
        maxRetries: policy.max_retries,
        initialDelay: duration(policy.initial_delay_seconds),
        maxDelay: duration(policy.max_delay_seconds),
      };
}

export function toRateLimit(limit: z.infer<typeof rateLimitBody>): MessageInitShape<typeof RateLimitSchema> {
  return { maxConcurrency: limit.max_concurrency, requestsPerSecond: limit.requests_per_second ?? 0 };
}

/** Returns a response's webhook; throws if it is missing. */
export function presentWebhook(webhook: Webhook | undefined): Webhook {
  if (!webhook) throw new Error('webhooks returned no webhook');
  return webhook;
}
