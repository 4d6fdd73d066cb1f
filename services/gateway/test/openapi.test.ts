import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { endpoints, envelopeOf } from '@rms/api';
import { errorKinds } from '@rms/base/errors';
import { eventTypes } from '@rms/base/webhook-events';
import { disposable, perSuite } from '@rms/testkit';
import { openApiDocument } from '../src/openapi/document.ts';
import { startGateway } from './support/start-gateway.ts';

const require = createRequire(import.meta.url);

describe('The OpenAPI document', () => {
  const api = perSuite(startGateway);

  test('is served at /openapi.json on both listeners, without a key', async () => {
    const { status, body } = await api.send('GET', '/openapi.json');
    expect([status, body]).toEqual([200, openApiDocument()]);
    expect(body.openapi).toBe('3.1.1');
  });

  test('names the path under which a proxy serves the API', async () => {
    await using other = disposable(await startGateway({ env: { PUBLIC_API_URL: 'https://example.com/rms' } }));
    const { body } = await other.send('GET', '/openapi.json');
    expect(body.servers).toMatchObject([{ url: '/rms' }]);
  });

  test('passes the recommended rules of a linter', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rms-openapi-'));
    const file = join(folder, 'openapi.json');
    writeFileSync(file, JSON.stringify(openApiDocument()));
    const redocly = join(dirname(require.resolve('@redocly/cli/package.json')), 'bin', 'cli.js');
    const lint = promisify(execFile)(
      process.execPath,
      [redocly, 'lint', '--extends=recommended', '--format=json', file],
      {
        env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
      },
    );
    const { stdout } = await lint.catch((error: { stdout: string }) => error);
    rmSync(folder, { recursive: true });
    const { totals, problems } = JSON.parse(stdout.slice(stdout.indexOf('{')));
    expect({ totals, problems }).toEqual({ totals: { errors: 0, warnings: 0, ignored: 0 }, problems: [] });
  });

  test('has these endpoints, each with its scope and its errors', () => {
    const { paths } = openApiDocument() as { paths: Record<string, Record<string, { responses: object }>> };
    const operations = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method} ${path}`),
    );
    expect(operations.sort()).toEqual([
      'delete /v1/alert_channels/{id}',
      'delete /v1/api_keys/{id}',
      'delete /v1/invitations/{id}',
      'delete /v1/members/{id}',
      'delete /v1/resources/{id}',
      'delete /v1/webhooks/{id}',
      'delete /v1/webhooks/{id}/client_certificate',
      'get /v1/alert_channels',
      'get /v1/alert_channels/{id}',
      'get /v1/alert_rules',
      'get /v1/alert_rules/{kind}',
      'get /v1/api_keys',
      'get /v1/api_keys/{id}',
      'get /v1/audit_log',
      'get /v1/deliveries',
      'get /v1/deliveries/{id}',
      'get /v1/events',
      'get /v1/events/{id}',
      'get /v1/incidents',
      'get /v1/incidents/{id}',
      'get /v1/invitations',
      'get /v1/invitations/{id}',
      'get /v1/members',
      'get /v1/members/{id}',
      'get /v1/metrics/deliveries',
      'get /v1/metrics/requests',
      'get /v1/replays',
      'get /v1/replays/{id}',
      'get /v1/requests',
      'get /v1/requests/{request_id}',
      'get /v1/resources',
      'get /v1/resources/{id}',
      'get /v1/webhooks',
      'get /v1/webhooks/{id}',
      'get /v1/workspace',
      'patch /v1/alert_channels/{id}',
      'patch /v1/api_keys/{id}',
      'patch /v1/members/{id}',
      'patch /v1/resources/{id}',
      'patch /v1/webhooks/{id}',
      'post /v1/alert_channels',
      'post /v1/alert_channels/{id}/test',
      'post /v1/alert_rules/{kind}/test',
      'post /v1/api_keys',
      'post /v1/api_keys/{id}/roll',
      'post /v1/deliveries/{id}/cancel',
      'post /v1/deliveries/{id}/redeliver',
      'post /v1/incidents/{id}/acknowledge',
      'post /v1/incidents/{id}/mute',
      'post /v1/invitations',
      'post /v1/portal_sessions',
      'post /v1/replays',
      'post /v1/replays/{id}/cancel',
      'post /v1/resources',
      'post /v1/webhooks',
      'post /v1/webhooks/filter_test',
      'post /v1/webhooks/{id}/pause',
      'post /v1/webhooks/{id}/resume',
      'post /v1/webhooks/{id}/rotate_secret',
      'post /v1/webhooks/{id}/test',
      'put /v1/alert_rules/{kind}',
      'put /v1/webhooks/{id}/client_certificate',
    ]);
    for (const item of Object.values(paths)) {
      for (const { responses } of Object.values(item)) {
        expect(Object.keys(responses)).toEqual(
          expect.arrayContaining(['400', '401', '403', '429', '500', '503', '504']),
        );
      }
    }
  });

  test('permits http URLs of webhooks only if the installation does', async () => {
    type Keywords = { pattern: string; description: string };
    const urlsOf = (document: unknown) => {
      const { schemas } = (document as { components: { schemas: Record<string, { properties: { url: Keywords } }> } })
        .components;
      return ['CreateWebhook', 'UpdateWebhook'].map((name) => schemas[name]?.properties.url as Keywords);
    };
    const env = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_CIDRS: '10.0.0.0/8' };
    await using open = disposable(await startGateway({ env }));
    for (const [document, http, text] of [
      [openApiDocument(), false, 'Publicly reachable HTTPS URL without user information.'],
      [
        (await open.send('GET', '/openapi.json')).body,
        true,
        'HTTP or HTTPS URL that is publicly reachable or in a network that this installation permits, without user information.',
      ],
    ] as const) {
      for (const { pattern, description } of urlsOf(document)) {
        const isAllowed = ['https://a.example/', 'HTTP://a.example/', 'ftp://a.example/'].map((url) =>
          new RegExp(pattern).test(url),
        );
        expect([isAllowed, description.startsWith(text)]).toEqual([[true, http, false], true]);
      }
    }
  });

  test('has the request that webhooks receive for every event type, with an example that its schema allows', () => {
    const document = openApiDocument() as { paths: { '/v1/webhooks': { post: { callbacks: object } } } };
    const { callbacks } = document.paths['/v1/webhooks'].post;
    expect(Object.keys(callbacks)).toEqual(eventTypes);
    for (const word of ['webhook-signature', 'status 200', 'Retry-After', 'more than once', 'out of order', '"410"']) {
      for (const callback of Object.values(callbacks)) expect(JSON.stringify(callback)).toContain(word);
    }
    // openapi-generator and oapi-codegen create code that does not compile from the section `webhooks`.
    expect(document).not.toHaveProperty('webhooks');
    for (const type of eventTypes) {
      const schema = envelopeOf(type);
      const { example } = schema.meta() ?? {};
      expect([type, schema.parse(example)]).toEqual([type, example]);
      expect(example).toMatchObject({ type });
      // A type's schema does not allow events of another one.
      for (const other of eventTypes) {
        expect([type, other, envelopeOf(other).safeParse(example).success]).toEqual([type, other, type === other]);
      }
    }
  });

  test('has no schema that generators of clients represent wrongly', () => {
    const wrong: string[] = [];
    const visit = (node: unknown, path: string) => {
      if (typeof node !== 'object' || node === null) return;
      const { type, const: constant, ...schema } = node as Record<string, unknown>;
      if (type === 'null' && !/\/(?:anyOf|oneOf)\/\d+$/.test(path)) wrong.push(`${path}: only null`);
      if (typeof constant === 'number') wrong.push(`${path}: a constant number`);
      if (type === 'array' && ('oneOf' in schema || 'anyOf' in schema))
        wrong.push(`${path}: an array with alternatives`);
      if (type === 'array' && 'uniqueItems' in schema) wrong.push(`${path}: a set`);
      for (const [key, value] of Object.entries(node)) visit(value, `${path}/${key}`);
    };
    visit(openApiDocument(), '');
    expect(wrong).toEqual([]);
  });

  test('has schema names that stay different in generated code', () => {
    const { components } = openApiDocument() as { components: { schemas: object } };
    const names = Object.keys(components.schemas);
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
    // Generators for Go create a constructor New<name> and a type Nullable<name> per schema.
    const reserved = names.flatMap((name) => [`New${name}`, `Nullable${name}`]);
    expect(names.filter((name) => reserved.includes(name))).toEqual([]);
  });

  test('no field or parameter with a default is required', () => {
    const wrong: string[] = [];
    const visit = (node: unknown, path: string) => {
      if (typeof node !== 'object' || node === null) return;
      const { required, properties, schema, name } = node as {
        required?: unknown;
        properties?: Record<string, object>;
        schema?: object;
        name?: string;
      };
      if (required === true && schema && 'default' in schema) wrong.push(`${path} ${name}`);
      if (Array.isArray(required) && properties) {
        for (const field of required) if ('default' in (properties[field] ?? {})) wrong.push(`${path} ${field}`);
      }
      for (const [key, value] of Object.entries(node)) visit(value, `${path}/${key}`);
    };
    visit(openApiDocument(), '');
    expect(wrong).toEqual([]);
  });

  test('has an HTML page that loads no external resources and runs no inline script', async () => {
    const page = await api.send('GET', '/docs');
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.headers['content-security-policy']).toMatch(/default-src 'none'; script-src 'self';/);
    const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link as string);
    expect(links).toEqual(['docs/icon.svg', 'docs/scalar.js', 'docs/start.js']);
    for (const link of links) {
      const file = await api.send('GET', `/${link}`);
      expect([file.status, file.text.length > 0]).toEqual([200, true]);
    }
    expect(page.text).not.toMatch(/<script(?![^>]*src=)|\son\w+=|style=/);
  });

  test('is sent compressed, and again only if it has changed, as are the files of its page', async () => {
    for (const path of ['/openapi.json', '/docs/scalar.js']) {
      const plain = await api.send('GET', path);
      const packed = await fetch(api.gateway.addresses.live + path);
      const { headers } = packed;
      expect([headers.get('content-encoding'), headers.get('vary')]).toEqual(['gzip', 'Accept-Encoding']);
      expect(Number(headers.get('content-length'))).toBeLessThan(plain.text.length / 3);
      expect(await packed.text()).toBe(plain.text);
      const etag = headers.get('etag') ?? '';
      const repeated = await api.send('GET', path, { headers: { 'If-None-Match': etag } });
      expect([repeated.status, repeated.text, repeated.headers.etag]).toEqual([304, '', etag]);
      expect((await api.send('HEAD', path)).headers['content-length']).toBe(String(Buffer.byteLength(plain.text)));
    }
  });

  test('contains the guides and the error catalog, with links only to its own pages', () => {
    const { tags, 'x-tagGroups': groups } = openApiDocument() as {
      tags: { name: string; description: string }[];
      'x-tagGroups': { name: string; tags: string[] }[];
    };
    expect(groups.map(({ name }) => name)).toEqual(['Guide', 'Operations', 'Receiving webhooks']);
    expect(groups.flatMap((group) => group.tags).sort()).toEqual(tags.map(({ name }) => name).sort());
    const textOf = (name: string) => tags.find((tag) => tag.name === name)?.description ?? '';
    for (const name of ['Authentication', 'Errors', 'Lists', 'Idempotency', 'Limits', 'Verifying signatures']) {
      expect(textOf(name).length).toBeGreaterThan(300);
    }
    for (const code of Object.keys(errorKinds)) expect(textOf('Error codes')).toContain(`### \`${code}\``);
    const pages = new Set(tags.map(({ name }) => `#tag/${name.toLowerCase().replaceAll(' ', '-')}`));
    const links = tags.flatMap(({ description }) => [...description.matchAll(/\]\(([^)\s]+)\)/g)]);
    expect(links.length).toBeGreaterThan(8);
    expect(links.map(([, target = '']) => target).filter((target) => !pages.has(target))).toEqual([]);
  });

  test('has samples for curl and both clients for every operation, with a body and parameters that are valid', () => {
    const { paths } = openApiDocument() as { paths: Record<string, Record<string, { 'x-codeSamples': object[] }>> };
    for (const { path, method, operationId, body, query } of endpoints) {
      const samples = paths[path]?.[method]?.['x-codeSamples'] as { label: string; source: string }[];
      expect([operationId, samples.map(({ label }) => label)]).toEqual([operationId, ['curl', 'TypeScript', 'Python']]);
      for (const { source } of samples) expect(source).not.toMatch(/undefined|\[object|\{id\}/);
      const example = body?.meta()?.example;
      expect([operationId, example === undefined]).toEqual([operationId, body === undefined]);
      expect(body?.safeParse(example).error).toBeUndefined();
      const parameters = query?.meta()?.example ?? {};
      expect(query?.safeParse(parameters).error).toBeUndefined();
    }
  });

  test('has an icon, also at the path that browsers request by default', async () => {
    for (const path of ['/docs/icon.svg', '/favicon.ico']) {
      const { status, headers, text } = await api.send('GET', path);
      expect([status, headers['content-type'], text.slice(0, 4)]).toEqual([
        200,
        'image/svg+xml; charset=utf-8',
        '<svg',
      ]);
    }
  });
});
