import { z } from 'zod';

const pem = z
  .string()
  .min(1)
  .max(32_768)
  .regex(/^[\t\n\r -~]+$/, 'must be in PEM format');

export const clientCertificateBody = z
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
