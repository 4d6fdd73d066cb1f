import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { startProgram } from '../servers/program.ts';
import { temporaryFolder } from '../servers/temporary-folder.ts';
import { programEnv, root } from '../shapes/program-env.ts';
import { waitUntil } from '../wait-until.ts';
import type { ReceivedSpan } from './received-span.ts';

/** An OTLP trace collector in its own process. */
export interface OtlpCollector {
  readonly pid: number;
  /** Settings that make a service send its spans to this collector soon after they end. */
  readonly env: Readonly<Record<'http' | 'grpc', Readonly<Record<string, string>>>>;
  spans(): Promise<ReceivedSpan[]>;
  /** Returns the number of received spans. */
  count(): Promise<number>;
  /** Waits until the received spans satisfy `isThere`, and returns all of them. */
  waitFor(what: string, isThere: (spans: readonly ReceivedSpan[]) => boolean): Promise<ReceivedSpan[]>;
  stop(): Promise<void>;
}

/** @param keep false: spans are only counted, for benchmarks */
export async function startOtlpCollector({ keep = true }: { keep?: boolean } = {}): Promise<OtlpCollector> {
  const folder = temporaryFolder('otlp');
  const [httpPort, grpcPort] = [await freePort(), await freePort()];
  const program = await startProgram({
    name: 'the collector',
    command: process.execPath,
    args: [join(root, 'packages', 'testkit', 'src', 'otlp', 'main.ts'), JSON.stringify({ httpPort, grpcPort, keep })],
    env: programEnv({}),
    outputFile: join(folder.path, 'output'),
    ready: (output) => output.includes('listening'),
  }).catch((error: unknown) => {
    folder.remove();
    throw error;
  });
  const ask = async () => {
    const response = await fetch(`http://127.0.0.1:${httpPort}/spans`, { signal: AbortSignal.timeout(60_000) });
    return (await response.json()) as { count: number; spans: ReceivedSpan[] };
  };
  const spans = async () => (await ask()).spans;
  const soon = { OTEL_BSP_SCHEDULE_DELAY: '50' };
  return {
    pid: program.pid,
    env: {
      http: { ...soon, OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${httpPort}` },
      grpc: {
        ...soon,
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${grpcPort}`,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      },
    },
    spans,
    count: async () => (await ask()).count,
    async waitFor(what, isThere) {
      let found: ReceivedSpan[] = [];
      await waitUntil(
        async () => {
          found = await spans();
          return isThere(found);
        },
        { what },
      );
      return found;
    },
    async stop() {
      await program.terminate();
      folder.remove();
    },
  };
}
