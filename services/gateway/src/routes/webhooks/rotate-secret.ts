import { z } from 'zod';
import { defineEndpoint } from '../shared/endpoint.ts';
import { checkId, oneJson, replayedHeader } from '../shared/single-object.ts';
import { seconds, shownTime, timeOf, toDuration } from '../shared/time-schemas.ts';
import { newSecret, webhookId } from './webhook-schemas.ts';

const defaultOverlapSeconds = 86_400;
const maxOverlapSeconds = 7 * 86_400;

export const rotateSecret = defineEndpoint({
  method: 'post',
  path: '/v1/webhooks/{id}/rotate_secret',
  operationId: 'rotateWebhookSecret',
  summary: 'Rotate the signing secret',
  description:
    'During the overlap, deliveries are signed with both secrets (`webhook-signature`). The response contains the new ' +
    'secret, which is shown only once. If another API key repeats the Idempotency-Key, its response does not contain ' +
    'the secret.',
  tag: 'Webhooks',
  scope: 'admin',
  idempotent: true,
  optionalBody: true,
  body: z
    .strictObject({
      overlap: seconds(0, maxOverlapSeconds)
        .optional()
        .describe('Seconds during which deliveries are also signed with the previous secret.')
        .meta({ override: { default: defaultOverlapSeconds } }),
    })
    .meta({ id: 'RotateWebhookSecret', example: { overlap: 3_600 } }),
  success: {
    status: 200,
    description: 'The new secret.',
    schema: z.strictObject({
      data: z
        .strictObject({
          id: webhookId,
          secret: newSecret,
          previous_secret_expires_at: shownTime.nullable().describe('Null without an overlap.'),
        })
        .meta({ id: 'RotatedWebhookSecret' }),
    }),
  },
  async handle({ context, id, body, principal, idempotencyKey, backend }) {
    checkId('wh', id);
    const { workspaceId, environment } = principal;
    const { webhook, secret, replayed } = await backend.webhooks.rotateSecret(
      { workspaceId, environment, id, overlap: toDuration(body.overlap ?? defaultOverlapSeconds), idempotencyKey },
      { context: context() },
    );
    const previous = timeOf(webhook?.previousSecretExpireTime);
    const json = JSON.stringify({ id, secret: secret || undefined, previous_secret_expires_at: previous });
    return { status: 200, json: oneJson(json), headers: replayedHeader(replayed) };
  },
});
