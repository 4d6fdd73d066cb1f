import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { endSpan, isTracing, spanKind, startSpan } from '@rms/async/tracing';
import {
  disposable,
  listenOnLoopback,
  makeCertificates,
  startConnectProxy,
  startOtlpCollector,
  waitUntil,
} from '@rms/testkit';
import { startTracing } from '../../src/tracing/index.ts';

const lines: string[] = [];

const start = (env: NodeJS.ProcessEnv) =>
  startTracing({ serviceName: 'rms-test', log: { info: note, warn: note }, env });

function note(_: object, text: string): void {
  lines.push(text);
}

/** The SDK reads process.env itself. */
const before = { ...process.env };
afterEach(() => {
  for (const name of Object.keys(process.env)) if (/^OTEL_|_PROXY$|_proxy$/.test(name)) delete process.env[name];
  Object.assign(process.env, before);
  lines.length = 0;
});

describe('startTracing', () => {
  test.each([
    [{}],
    [{ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }],
    [{ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }],
    [{ OTEL_TRACES_SAMPLER: 'always_on', OTEL_SERVICE_NAME: 'x' }],
  ])('does not trace with %j', async (env) => {
    expect(await start(env)).toBeUndefined();
    expect(isTracing()).toBe(false);
  });

  test.each([
    [{ OTEL_TRACES_EXPORTER: 'zipkin' }, /^OTEL_TRACES_EXPORTER: "zipkin" is not/],
    [{ OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'udp' }, /^OTEL_EXPORTER_OTLP_PROTOCOL: "udp"/],
    [{ OTEL_TRACES_EXPORTER: 'otlp', OTEL_TRACES_SAMPLER: 'some' }, /^OTEL_TRACES_SAMPLER: "some"/],
    [
      { OTEL_TRACES_EXPORTER: 'otlp', OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
      /^OTEL_TRACES_SAMPLER_ARG: "2"/,
    ],
    [{ OTEL_TRACES_EXPORTER: 'otlp', OTEL_BSP_SCHEDULE_DELAY: '1s' }, /^OTEL_BSP_SCHEDULE_DELAY: "1s" is not/],
    [{ OTEL_TRACES_EXPORTER: 'otlp', OTEL_BSP_MAX_QUEUE_SIZE: '0' }, /^OTEL_BSP_MAX_QUEUE_SIZE: "0" is not/],
    [{ OTEL_TRACES_EXPORTER: 'otlp', OTEL_SPAN_LINK_COUNT_LIMIT: '-1' }, /^OTEL_SPAN_LINK_COUNT_LIMIT: "-1" is not/],
  ])('fails with %j in one line that names the variable', async (env, message) => {
    await expect(start(env)).rejects.toThrow(message);
    expect(isTracing()).toBe(false);
  });

  test.each(['http', 'grpc'] as const)('sends spans by %s through HTTPS_PROXY to an https collector', async (way) => {
    const folder = mkdtempSync(join(tmpdir(), 'rms-traces-'));
    const certificates = makeCertificates(folder);
    const { certFile, keyFile } = certificates.issue('collector.example');
    const collector = await startOtlpCollector();
    const inside = new URL(collector.env[way].OTEL_EXPORTER_OTLP_ENDPOINT ?? '');
    const ends = { cert: readFileSync(certFile), key: readFileSync(keyFile), ALPNProtocols: ['h2', 'http/1.1'] };
    const tls = await listenOnLoopback(
      createTlsServer(ends, (socket) => {
        const plain = connect(Number(inside.port), inside.hostname);
        socket.pipe(plain).pipe(socket);
        socket.on('error', () => plain.destroy());
        plain.on('error', () => socket.destroy());
      }),
    );
    const proxy = await startConnectProxy(() => tls.port);
    const env = {
      ...collector.env[way],
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example:4317',
      OTEL_EXPORTER_OTLP_CERTIFICATE: certificates.caFile,
      HTTPS_PROXY: proxy.url.replace('http://', 'http://rms:p%40ss@'),
    };
    try {
      Object.assign(process.env, env);
      const tracing = await start(env);
      endSpan(startSpan({ name: 'outside', kind: spanKind.internal }, undefined));
      await collector.waitFor('the span', (spans) => spans.some(({ name }) => name === 'outside'));
      await tracing?.stop();
      expect(proxy.requests).toContain('collector.example:4317');
      expect(lines).toEqual([]);
    } finally {
      await collector.stop();
      await proxy.close();
      await tls.close();
      rmSync(folder, { recursive: true });
    }
  });

  test.each(['http', 'grpc'] as const)(
    'sends ended spans to a collector by %s, and the remaining spans at the end',
    async (way) => {
      await using collector = disposable(await startOtlpCollector());
      const env = {
        ...collector.env[way],
        OTEL_BSP_SCHEDULE_DELAY: '60000',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=trial',
      };
      Object.assign(process.env, env);
      const tracing = await start(env);
      const step = { name: 'work', kind: spanKind.internal, attributes: { 'rms.request_id': 'req-1' } };
      endSpan(startSpan(step, undefined));
      tracing?.ending();
      await tracing?.stop();
      expect(await collector.spans()).toMatchObject([
        {
          service: 'rms-test',
          name: 'work',
          kind: 'INTERNAL',
          parentSpanId: '',
          resource: { 'service.namespace': 'rms', 'deployment.environment.name': 'trial' },
          attributes: { 'rms.request_id': 'req-1' },
        },
      ]);
      expect(isTracing()).toBe(false);
      expect(lines).toEqual([]);
    },
  );

  test('logs an unreachable collector once, and stops without it', async () => {
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_EXPORTER_OTLP_TIMEOUT: '200',
      OTEL_BSP_SCHEDULE_DELAY: '10',
    };
    Object.assign(process.env, env);
    const tracing = await start(env);
    endSpan(startSpan({ name: 'first', kind: spanKind.internal }, undefined));
    await waitUntil(() => lines.length > 0, { what: 'the log line about the collector' });
    endSpan(startSpan({ name: 'second', kind: spanKind.internal }, undefined));
    tracing?.ending();
    await tracing?.stop();
    expect(lines).toEqual(['trace export failed; the traces are lost']);
  });

  test('does not wait for an export if the collector is unreachable', async () => {
    // A failing export would be retried for two seconds and then logged.
    const env = {
      OTEL_EXPORTER_OTLP_TIMEOUT: '2000',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_BSP_SCHEDULE_DELAY: '60000',
    };
    Object.assign(process.env, env);
    const tracing = await start(env);
    endSpan(startSpan({ name: 'work', kind: spanKind.internal }, undefined));
    await tracing?.stop();
    expect(lines).toEqual([]);
  });
});
