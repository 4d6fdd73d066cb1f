// An OpenTelemetry collector that stores received traces, in its own process. It accepts OTLP over gRPC and over HTTP
// with protobuf. GET /spans returns all spans. Its argument is the settings as JSON.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { fromBinary } from '@bufbuild/protobuf';
import {
  ExportTraceServiceRequestSchema,
  TraceService,
} from '@rms/proto/opentelemetry/proto/collector/trace/v1/trace_service_pb';
import { rpcService, serve } from '@rms/rpc';
import { type ReceivedSpan, receivedSpans } from './received-span.ts';

const { httpPort, grpcPort, keep } = JSON.parse(process.argv[2] ?? '') as {
  httpPort: number;
  grpcPort: number;
  /** False: spans are only counted. */
  keep: boolean;
};
const spans: ReceivedSpan[] = [];
let count = 0;

function take(received: readonly ReceivedSpan[]): void {
  count += received.length;
  if (keep) spans.push(...received);
}

const log = { error: console.error, warn: console.error, debug() {} };
const traces = rpcService(TraceService, {
  export: async (request) => {
    take(receivedSpans(request));
    return {};
  },
});
await serve({ host: '127.0.0.1', port: grpcPort, services: [traces], log });

const http = createServer(async (request, response) => {
  if (request.method === 'GET' && request.url === '/spans') {
    response.end(JSON.stringify({ count, spans }));
    return;
  }
  if (request.method !== 'POST' || request.url !== '/v1/traces') {
    response.writeHead(404).end();
    return;
  }
  const body = await buffer(request);
  const bytes = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
  take(receivedSpans(fromBinary(ExportTraceServiceRequestSchema, bytes)));
  response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
});
http.listen(httpPort, '127.0.0.1');
await once(http, 'listening');
console.log('listening');
