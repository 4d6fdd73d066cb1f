import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ErrorCode, RmsError } from '@rms/errors';
import { newId } from '@rms/ids';
import { errorAnswer } from './respond.ts';

const codes: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** Answers what Node's parser refuses, and so never becomes a request, in the form of every other error. */
export function refuseMalformed(server: Server): void {
  const current = new WeakMap<Duplex, ServerResponse>();
  server.on('request', (request, response) => current.set(request.socket, response));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const answering = current.get(socket);
    // The client has gone, or reads another answer already.
    if (error.code === 'ECONNRESET' || !socket.writable || (answering?.headersSent && !answering.writableFinished)) {
      socket.destroy();
      return;
    }
    const code = codes[error.code ?? ''] ?? 'invalid_request';
    const details = code === 'invalid_request' ? [{ field: 'request', message: 'is not well-formed HTTP/1.1' }] : [];
    refuse(socket, new RmsError(code, { details, cause: error }));
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => {});
    refuse(socket, new RmsError('method_not_allowed'));
  });
}

function refuse(socket: Duplex, error: RmsError): void {
  const { status, json = '' } = errorAnswer(error);
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `X-Request-ID: ${newId('req')}`,
    `Date: ${new Date().toUTCString()}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(json)}`,
    'X-Content-Type-Options: nosniff',
    'Cache-Control: no-store',
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${json}`, () => socket.destroy());
}
