import type { Response } from '@rms/net/http';
import { z } from 'zod';
import { type Call, checkId, defineEndpoint, oneResponse } from '../endpoint.ts';
import { oneWebhookOf, readHealth } from '../webhook/document.ts';
import { oneWebhook } from '../webhook/schema.ts';

const pem = z
  .string()
  .min(1)
  .max(32_768)
  .regex(/^[\t\n\r -~]+$/, 'must be in PEM format');

const clientCertificateBody = z
  .strictObject({
    certificate: pem.describe('Certificate in PEM format, followed by its chain if there is one.'),
    private_key: pem.describe('Matching private key in PEM format, not encrypted.'),
  })
  .meta({
    id: 'SetWebhookClientCertificate',
    example: {
      certificate: '-----BEGIN CERTIFICATE-----\n...\n-----END CERTIFICATE-----\n',
      private_key: '-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n',
    },
  });

const setClientCertificate = defineEndpoint({
  method: 'put',
  path: '/v1/webhooks/{id}/client_certificate',
  operationId: 'setWebhookClientCertificate',
  summary: 'Set the client certificate',
  description:
    'The certificate of this service in TLS connections to the endpoint (mutual TLS). The private key is stored encrypted ' +
    'and never returned. Replaces the previous certificate; later attempts use the new one.',
  tag: 'Webhooks',
  permission: 'webhooks:write',
  conditional: true,
  body: clientCertificateBody,
  success: { status: 200, description: 'The webhook with the certificate.', schema: oneWebhook },
  handle: (call) => changeClientCertificate(call, call.body.certificate, call.body.private_key),
});

const removeClientCertificate = defineEndpoint({
  method: 'delete',
  path: '/v1/webhooks/{id}/client_certificate',
  operationId: 'removeWebhookClientCertificate',
  summary: 'Remove the client certificate',
  description: 'Later attempts use none. Removing an absent certificate is not an error.',
  tag: 'Webhooks',
  permission: 'webhooks:write',
  conditional: true,
  success: { status: 200, description: 'The webhook without a certificate.', schema: oneWebhook },
  handle: (call) => changeClientCertificate(call, '', ''),
});

/** Sets the client certificate of a webhook; empty: removes it. */
async function changeClientCertificate(
  call: Call<unknown, unknown>,
  certificate: string,
  privateKey: string,
): Promise<Response> {
  const { context, id, expectedVersions, tenant, backend } = call;
  checkId('wh', id);
  const { workspaceId, environment } = tenant;
  const { webhook } = await backend.webhooks.updateWebhook(
    { workspaceId, environment, id, expectedVersions, clientCertificate: { certificate, privateKey } },
    { context: context() },
  );
  const healths = await readHealth(call, [id], { context: context() });
  return oneResponse(200, oneWebhookOf(webhook, healths.get(id)));
}

export const webhookCertificateEndpoints = [setClientCertificate, removeClientCertificate];
