import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { versionOfService } from '@rms/api';
import { deliveryHeaders, makeSecret, toSigningSecret } from '@rms/base/signature';
import { openApiDocument } from '../../services/gateway/src/openapi/document.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly [dependencies: string]: unknown;
}
const manifestOf = (file: string) => JSON.parse(read(file)) as Manifest;

describe('The version in package.json', () => {
  const { version } = manifestOf('package.json');
  const [release = ''] = /^\d+\.\d+/.exec(version) ?? [];

  test('is the version of every package, and of every dependency on one', () => {
    const exclude = (path: string) => /node_modules|dist/.test(path);
    // The package that provides Node to the scripts has no version.
    const manifests = globSync('*/**/package.json', { cwd: root, exclude })
      .map(manifestOf)
      .filter((manifest) => 'version' in manifest);
    expect(manifests.length).toBeGreaterThan(25);
    const versions = manifests.flatMap(({ name, version, dependencies = {}, devDependencies = {} }) => [
      [name, version],
      ...Object.entries({ ...(dependencies as object), ...(devDependencies as object) }).filter(([dependency]) =>
        dependency.startsWith('@rms/'),
      ),
    ]);
    expect(versions.filter(([, other]) => other !== version)).toEqual([]);
  });

  test('is the version of the API, the clients, the chart, the webhooks and the documents', () => {
    const { info } = openApiDocument() as { info: { version: string } };
    const secrets = { current: toSigningSecret(makeSecret()), previous: undefined };
    const content = { eventId: 'evt_1', requestId: 'req_1', traceparent: '', body: Buffer.from('{}') };
    const headers = new Headers(deliveryHeaders(secrets, content, 0) as Record<string, string>);
    const chart = read('deploy/helm/rms/Chart.yaml');
    const found = {
      'OpenAPI document': info.version,
      'GET /v1/workspace': versionOfService(),
      'Python client': /^version = "(.*)"$/m.exec(read('clients/python/pyproject.toml'))?.[1],
      chart: /^version: (.*)$/m.exec(chart)?.[1],
      'appVersion of the chart': /^appVersion: (.*)$/m.exec(chart)?.[1],
      changelog: /^## (?:\[Unreleased\] |\[)([\d.]+)/m.exec(read('CHANGELOG.md'))?.[1],
      'package of rms': /rms-cli-(.*)\.tgz/.exec(read('docs/cli.md'))?.[1],
      'package of the TypeScript client': /rms-client-(.*?)\.tgz/.exec(read('clients/typescript/README.md'))?.[1],
      'User-Agent': headers.get('user-agent')?.replace('rms-webhooks/', ''),
      'documented User-Agent': /`rms-webhooks\/(.*)`/.exec(read('docs/webhook-receivers.md'))?.[1],
    };
    const expected = Object.keys(found).map((place) => [place, place.endsWith('User-Agent') ? release : version]);
    expect(found).toEqual(Object.fromEntries(expected));
  });
});
