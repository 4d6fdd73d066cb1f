import type { IncomingMessage, Server } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ErrorCode, RmsError } from '@rms/errors';
import { newId } from '@rms/ids';
import type { Connections } from './connections.ts';
import { errorResponse, type Response } from './respond.ts';
import { securityHeaders } from './security-headers.ts';

const codes: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** Responds in the usual error format to data that Node's parser rejects and that therefore never becomes a request. */
export function refuseMalformed(
  server: Server,
  connections: Pick<Connections, 'latestResponse'>,
  { onRefused, catalogUrl }: { onRefused: () => void; catalogUrl: string | undefined },
): void {
  const refuse = (socket: Duplex, error: RmsError, requestId?: string) =>
    respondOn(socket, errorResponse(error, catalogUrl), requestId);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const latestResponse = connections.latestResponse(socket);
    // The client has disconnected, or is already receiving another response.
    if (
      error.code === 'ECONNRESET' ||
      !socket.writable ||
      (latestResponse?.headersSent && !latestResponse.writableFinished)
    ) {
      socket.destroy();
      return;
    }
    // The connection's last response is complete; data after its request is ignored.
    if (latestResponse?.writableFinished && !latestResponse.shouldKeepAlive) {
      socket.end(() => socket.destroy());
      return;
    }
    onRefused();
    const code = codes[error.code ?? ''] ?? 'invalid_request';
    const details = code === 'invalid_request' ? [{ field: 'request', message: 'is not well-formed HTTP/1.1' }] : [];
    const requestId = latestResponse?.writableFinished ? undefined : latestResponse?.getHeader('X-Request-ID');
    refuse(socket, new RmsError(code, { details, cause: error }), requestId?.toString());
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => {});
    onRefused();
    refuse(socket, new RmsError('method_not_allowed'));
  });
}

function respondOn(socket: Duplex, { status, json = '' }: Response, requestId = newId('req')): void {
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `X-Request-ID: ${requestId}`,
    `Date: ${new Date().toUTCString()}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(json)}`,
    ...securityHeaders.map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${json}`, () => socket.destroy());
}
