import type { IncomingMessage, Server } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ErrorCode, RmsError } from '@rms/errors';
import { newId } from '@rms/ids';
import type { Connections } from './connections.ts';
import { errorAnswer } from './respond.ts';
import { securityHeaders } from './security-headers.ts';

const codes: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** Answers what Node's parser refuses, and so never becomes a request, in the form of every other error. */
export function refuseMalformed(
  server: Server,
  connections: Pick<Connections, 'answering'>,
  onRefused: () => void,
): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const answering = connections.answering(socket);
    // The client has gone, or reads another answer already.
    if (error.code === 'ECONNRESET' || !socket.writable || (answering?.headersSent && !answering.writableFinished)) {
      socket.destroy();
      return;
    }
    // The last answer of this connection has been given: what came after its request is nobody's.
    if (answering?.writableFinished && !answering.shouldKeepAlive) {
      socket.end(() => socket.destroy());
      return;
    }
    onRefused();
    const code = codes[error.code ?? ''] ?? 'invalid_request';
    const details = code === 'invalid_request' ? [{ field: 'request', message: 'is not well-formed HTTP/1.1' }] : [];
    const requestId = answering?.writableFinished ? undefined : answering?.getHeader('X-Request-ID');
    refuse(socket, new RmsError(code, { details, cause: error }), requestId?.toString());
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => {});
    onRefused();
    refuse(socket, new RmsError('method_not_allowed'));
  });
}

function refuse(socket: Duplex, error: RmsError, requestId = newId('req')): void {
  const { status, json = '' } = errorAnswer(error);
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
