import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ErrorCode, RmsError } from '@rms/base/errors';
import { newId } from '@rms/base/ids';
import { errorResponse, securityHeaders } from './respond.ts';

/** Limits of Node's parser, for error messages. */
export interface ParserLimits {
  readonly maxHeadersKib: number;
  readonly headersMs: number;
  readonly requestMs: number;
}

/** Maximum size of the chunk extensions of a body. Node has no option for it. */
const chunkExtensionsKib = 16;

/** Returns the code and message of an error of Node's parser. */
function refusalOf(code: string, limits: ParserLimits): { code: ErrorCode; message?: string } {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return {
        code: 'headers_too_large',
        message: `The request line and the headers have more than ${limits.maxHeadersKib} KiB in total.`,
      };
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return {
        code: 'payload_too_large',
        message: `The chunk extensions of the request body have more than ${chunkExtensionsKib} KiB.`,
      };
    case 'ERR_HTTP_REQUEST_TIMEOUT': {
      const [headers, whole] = [limits.headersMs / 1_000, limits.requestMs / 1_000];
      return {
        code: 'request_timeout',
        message: `The request did not arrive in time: its headers must arrive within ${headers} s, and all of it within ${whole} s. Send it again.`,
      };
    }
    default:
      return { code: 'invalid_request' };
  }
}

/**
 * Responds in the usual error format to data that Node's parser rejects and that therefore never becomes a request.
 * @param latestResponseOf returns the response to the latest request of a connection
 */
export function refuseMalformed(
  server: Server,
  latestResponseOf: (socket: Duplex) => ServerResponse | undefined,
  {
    onRefused,
    catalogUrl,
    limits,
    headersPage,
  }: {
    onRefused: () => void;
    catalogUrl: string | undefined;
    limits: ParserLimits;
    /** Page in HTML that is sent if the headers are too large. */
    headersPage: string | undefined;
  },
): void {
  const refuse = (socket: Duplex, error: RmsError, requestId?: string) => {
    const { status, json } = errorResponse(error, catalogUrl);
    const isPage = headersPage !== undefined && error.code === 'headers_too_large';
    const content = isPage ? { type: 'text/html', text: headersPage } : { type: 'application/json', text: `${json}` };
    respondOn(socket, { status, ...content, requestId });
  };
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const latestResponse = latestResponseOf(socket);
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
    const { code, ...message } = refusalOf(error.code ?? '', limits);
    const problem = error.code === 'HPE_PAUSED_H2_UPGRADE' ? 'is HTTP/2; send HTTP/1.1' : 'is not well-formed HTTP/1.1';
    const details = code === 'invalid_request' ? [{ field: 'request', message: problem }] : [];
    const requestId = latestResponse?.writableFinished ? undefined : latestResponse?.getHeader('X-Request-ID');
    refuse(socket, new RmsError(code, { ...message, details, cause: error }), requestId?.toString());
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => {});
    onRefused();
    refuse(socket, new RmsError('method_not_allowed', { message: 'The method CONNECT is not supported.' }));
  });
}

function respondOn(
  socket: Duplex,
  {
    status,
    type,
    text,
    requestId = newId('req'),
  }: { status: number; type: string; text: string; requestId: string | undefined },
): void {
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `X-Request-ID: ${requestId}`,
    `Date: ${new Date().toUTCString()}`,
    `Content-Type: ${type}; charset=utf-8`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    ...securityHeaders.map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy());
}
