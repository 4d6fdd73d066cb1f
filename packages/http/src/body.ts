import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { RmsError } from '@rms/errors';

const limitKib = 256;
const limitBytes = limitKib * 1024;

/** Reads the body as JSON. Throws `unsupported_media_type`, `payload_too_large` or `invalid_request`. */
export async function readJsonBody(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  checkMediaType(request);
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) throw tooLarge();
  // The client waits for permission to send the body (RFC 9110, 10.1.1).
  if (request.headers.expect !== undefined) response.writeContinue();
  const bytes = await readBytes(request);
  if (!isUtf8(bytes)) throw refused('is not UTF-8');
  try {
    return JSON.parse(bytes.toString());
  } catch (cause) {
    throw refused('is not JSON', cause);
  }
}

function checkMediaType({ headers }: IncomingMessage): void {
  const type = headers['content-type'];
  if (type === 'application/json' && headers['content-encoding'] === undefined) return;
  const [name = '', ...parameters] = (type ?? '').toLowerCase().split(';');
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  const utf8 = charset === undefined || /^charset="?utf-8"?$/.test(charset);
  const encoding = headers['content-encoding'] ?? 'identity';
  if (name.trim() === 'application/json' && utf8 && encoding.toLowerCase() === 'identity') return;
  throw new RmsError('unsupported_media_type');
}

function readBytes(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      // Data past the limit is read and discarded, so that the client can read the response.
      if (length > limitBytes) {
        chunks.length = 0;
        reject(tooLarge());
      } else chunks.push(chunk);
    });
    request.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    request.on('error', () => reject(refused('ended early')));
  });
}

function tooLarge(): RmsError {
  return new RmsError('payload_too_large', { message: `The request body has more than ${limitKib} KiB.` });
}

function refused(message: string, cause?: unknown): RmsError {
  return new RmsError('invalid_request', { details: [{ field: 'body', message }], cause });
}
