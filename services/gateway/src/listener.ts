import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { type ErrorCode, RmsError } from '@rms/errors';
import { newId } from '@rms/ids';
import type { Express } from 'express';
import { renderError } from './respond.ts';

/** One HTTP server, in front of one environment's app. */
export interface Listener {
  readonly port: number;
  /** Takes no new connections, finishes requests under way for up to `graceMs`, then closes. */
  stop(graceMs: number): Promise<void>;
}

const maxHeaderBytes = 16 * 1024;

export async function listen(app: Express, host: string, port: number): Promise<Listener> {
  const server = createServer({ maxHeaderSize: maxHeaderBytes, keepAliveTimeout: 65_000 }, app);
  // Slow clients: so long for the headers, so long for the whole request.
  server.headersTimeout = 10_000;
  server.requestTimeout = 30_000;
  server.on('clientError', answerClientError);
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : port,
    stop: (graceMs) => close(server, graceMs),
  };
}

async function close(server: Server, graceMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const force = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(force);
}

/** What is no HTTP request never reaches the app, and still gets the documented answer with an X-Request-ID. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const codes: Record<string, ErrorCode> = {
    HPE_HEADER_OVERFLOW: 'headers_too_large',
    ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  };
  const answer = new RmsError(codes[error.code ?? ''] ?? 'invalid_request', {
    ...(codes[error.code ?? ''] ? {} : { message: 'The request is not HTTP.' }),
  });
  const json = renderError(answer);
  socket.end(
    `HTTP/1.1 ${answer.kind.httpStatus} ${answer.kind.httpStatus === 400 ? 'Bad Request' : 'Error'}\r\n` +
      `X-Request-ID: ${newId('req')}\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n` +
      `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(json)}\r\nConnection: close\r\n\r\n${json}`,
  );
}
