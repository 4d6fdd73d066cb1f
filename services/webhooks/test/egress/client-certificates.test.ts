import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { createSecretBox } from '@rms/base/secrets';
import { createEgress } from '@rms/net/guarded-http';
import { makeCertificates, perSuite, suiteFolder } from '@rms/testkit';
import { createEndpointAgents, type EndpointAgents } from '../../src/engine/attempt/endpoint-agents.ts';
import { clientKeyContext } from '../../src/secrets/contexts.ts';
import { attemptAt } from '../attempt-at.ts';
import { newTenant, startWebhooks } from '../support.ts';

const folder = suiteFolder('client-certificates');
const box = createSecretBox(Buffer.alloc(32, 3));

describe('client certificates', () => {
  const ours = perSuite(() => makeCertificates(join(folder, 'ours')));
  const others = perSuite(() => makeCertificates(join(folder, 'others')));

  const pemOf = ({ certFile, keyFile }: { certFile: string; keyFile: string }) => ({
    certificate: readFileSync(certFile, 'utf8'),
    privateKey: readFileSync(keyFile, 'utf8'),
  });

  describe('at a receiver that requires one', () => {
    let server: Server;
    let agents: EndpointAgents;
    const shown: (string | undefined)[] = [];
    beforeAll(async () => {
      const { certificate, privateKey } = pemOf(ours.issue('receiver'));
      const ca = readFileSync(ours.caFile, 'utf8');
      const options = { key: privateKey, cert: certificate, ca, requestCert: true, rejectUnauthorized: true };
      server = createServer(options, (request, response) => {
        shown.push((request.socket as TLSSocket).getPeerCertificate().subject?.CN as string | undefined);
        request.resume().on('end', () => response.end());
      });
      server.on('tlsClientError', () => {});
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const egress = createEgress({ allowHttp: false, allowCidrs: ['127.0.0.0/8'] });
      agents = createEndpointAgents({ egress, ca: () => ca }, box);
    });
    afterAll(async () => {
      await agents?.close();
      server?.closeAllConnections();
      server?.close();
    });

    const attempt = (webhookId: string, client?: { certificate: string; privateKey: string }) => {
      const webhook = { workspaceId: 'ws_1', environment: 'live' as const, webhookId };
      const endpoint = {
        clientCertificate: client?.certificate,
        clientKeySealed: client && box.seal(client.privateKey, clientKeyContext(webhook)),
      };
      const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      return attemptAt(url, agents.of(webhook, endpoint));
    };

    test('each webhook presents its own certificate', async () => {
      for (const name of ['wh_a', 'wh_b']) {
        expect(await attempt(name, pemOf(ours.issue(name)))).toMatchObject({ statusCode: 200, error: '' });
      }
      expect(shown).toEqual(['wh_a', 'wh_b']);
    });

    test('an attempt fails with a missing certificate or a certificate from an unknown authority', async () => {
      expect(await attempt('wh_c')).toMatchObject({
        statusCode: 0,
        error: expect.stringMatching(/^tls: ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED /),
      });
      // Node ends the connection without an error about the certificate.
      expect(await attempt('wh_d', pemOf(others.issue('wh_d')))).toMatchObject({
        statusCode: 0,
        error: expect.stringMatching(/^(?:tls|connection): /),
      });
      // Other webhooks are not affected.
      expect(await attempt('wh_e', pemOf(ours.issue('wh_e')))).toMatchObject({ statusCode: 200 });
    });

    test('a replaced certificate is used immediately', async () => {
      await attempt('wh_f', pemOf(ours.issue('old')));
      await attempt('wh_f', pemOf(ours.issue('new')));
      expect(shown.slice(-2)).toEqual(['old', 'new']);
    });
  });

  describe('of a webhook', () => {
    const rms = perSuite(startWebhooks);

    test('are stored with an encrypted key, shown without it, and can be removed', async () => {
      const tenant = newTenant();
      const url = 'http://127.0.0.1:65535/';
      const { id } = await rms.subscribe(tenant, url);
      const update = async (clientCertificate: { certificate: string; privateKey: string }) =>
        (await rms.webhooks.updateWebhook({ ...tenant, id, clientCertificate })).webhook;
      const client = pemOf(ours.issue('client'));
      expect(await update(client)).toMatchObject({ clientCertificate: client.certificate });
      const stored = async () => {
        const { rows } = await rms.database.pool.query('select * from webhooks.webhooks where id = $1', [id]);
        return rows[0];
      };
      const row = await stored();
      expect(row.client_key_sealed.includes(client.privateKey.slice(40, 80))).toBe(false);
      const { workspace_id: workspaceId, environment } = row;
      const context = clientKeyContext({ workspaceId, environment, webhookId: id });
      expect(createSecretBox(Buffer.alloc(32, 1)).open(row.client_key_sealed, context).toString()).toBe(
        client.privateKey,
      );

      for (const wrong of [
        { ...client, privateKey: pemOf(ours.issue('another')).privateKey },
        { ...client, certificate: 'no certificate' },
        { ...client, privateKey: '' },
      ]) {
        await expect(update(wrong)).rejects.toMatchObject({
          code: 'invalid_request',
          details: [{ field: 'client_certificate' }],
        });
      }
      expect((await stored()).client_certificate).toBe(client.certificate);
      expect(await update({ certificate: '', privateKey: '' })).toMatchObject({ clientCertificate: '' });
      expect(await stored()).toMatchObject({ client_certificate: null, client_key_sealed: null });
    });
  });
});
