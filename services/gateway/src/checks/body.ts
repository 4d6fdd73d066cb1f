import type { IncomingMessage } from 'node:http';
import { RmsError } from '@rms/errors';

const limitBytes = 256 * 1024;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/** The body as JSON. Throws `unsupported_media_type`, `payload_too_large` or `invalid_request`. */
export async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  checkMediaType(request);
  const bytes = await readBytes(request);
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch (cause) {
    throw new RmsError('invalid_request', { message: 'The request body is not JSON in UTF-8.', details: [], cause });
  }
}

function checkMediaType({ headers }: IncomingMessage): void {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';');
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  const utf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
  const encoding = headers['content-encoding'] ?? 'identity';
  if (type.trim() !== 'application/json' || !utf8 || encoding.toLowerCase() !== 'identity') {
    throw new RmsError('unsupported_media_type');
  }
}

function readBytes(request: IncomingMessage): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) throw new RmsError('payload_too_large');
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const done = (error?: Error) => {
      request.off('data', onData).off('end', onEnd).off('error', done).off('close', onClose);
      if (error) reject(error);
      else resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length));
    };
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length > limitBytes) {
        request.pause();
        done(new RmsError('payload_too_large'));
      } else chunks.push(chunk);
    };
    const onEnd = () => done();
    const onClose = () => done(new RmsError('invalid_request', { message: 'The request ended early.' }));
    request.on('data', onData).on('end', onEnd).on('error', done).on('close', onClose);
  });
}
