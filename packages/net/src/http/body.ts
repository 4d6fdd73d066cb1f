import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { RmsError } from '@rms/base/errors';
import { expectsContinue } from './app.ts';
import { parseMediaType } from './parameters.ts';
import { jsonType, shownText } from './respond.ts';

/** Maximum size of a request body, unless the endpoint has a lower one. */
const maxBodyKib = 256;
const maxShownLength = 100;

/** U+FEFF in UTF-8. */
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

export interface BodyOptions {
  /** Maximum size in KiB; default: 256. */
  readonly limitKib?: number | undefined;
  readonly budget: BodyBudget;
  /** Network of the client, and the workspace if it is known. */
  readonly owners: readonly string[];
}

/**
 * Reads the body as JSON. Ignores a byte order mark at its start (RFC 8259, 8.1). Throws `unsupported_media_type`,
 * `payload_too_large`, `invalid_request` or, beyond the budget, `service_unavailable`.
 */
export async function readJsonBody(
  request: IncomingMessage,
  response: ServerResponse,
  { limitKib = maxBodyKib, budget, owners }: BodyOptions,
): Promise<unknown> {
  checkMediaType(request, response);
  if (Number(request.headers['content-length'] ?? 0) > limitKib * 1024) throw tooLarge(limitKib);
  if (expectsContinue(request)) response.writeContinue();
  const bytes = await readBytes(request, { limitKib, budget, owners });
  if (bytes.length === 0) throw refused('is empty; send a JSON object');
  if (!isUtf8(bytes)) throw refused('is not UTF-8');
  try {
    const isMarked = bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark);
    return JSON.parse(bytes.toString('utf8', isMarked ? byteOrderMark.length : 0));
  } catch (cause) {
    throw refused(`is not JSON${positionOf(cause as SyntaxError)}`, cause);
  }
}

/**
 * Refuses a body that is not JSON in UTF-8 or that is encoded. The response headers say which bodies are accepted:
 * Accept-Encoding only if the encoding is the reason (RFC 7694, 3), otherwise Accept, and Accept-Patch for PATCH
 * (RFC 5789, 2.2).
 */
function checkMediaType({ headers, method }: IncomingMessage, response: ServerResponse): void {
  const { 'content-type': type, 'content-encoding': encoding = '' } = headers;
  if (encoding.split(',').some((coding) => !['', 'identity'].includes(coding.trim().toLowerCase()))) {
    response.setHeader('Accept-Encoding', 'identity');
    throw refusedType(`The request body must not be encoded; Content-Encoding is \`${shown(encoding)}\`.`);
  }
  if (type === jsonType) return;
  const parsed = parseMediaType(type ?? '');
  const charset = parsed?.parameters.get('charset') ?? 'utf-8';
  if (parsed?.name === jsonType && /^utf-?8$/i.test(charset)) return;
  response.setHeader('Accept', jsonType);
  if (method === 'PATCH') response.setHeader('Accept-Patch', jsonType);
  const found = type === undefined ? 'the request has no Content-Type' : `Content-Type is \`${shown(type)}\``;
  throw refusedType(`The request body must be ${jsonType} in UTF-8; ${found}.`);
}

/**
 * Returns ": syntax error at line 1, column 14" if JSON.parse reports the position. The rest of its message quotes the
 * body, which may contain secrets.
 */
function positionOf({ message }: SyntaxError): string {
  if (message === 'Unexpected end of JSON input') return ': it is incomplete';
  const [, line, column] = /\(line (\d+) column (\d+)\)$/.exec(message) ?? [];
  return line === undefined ? '' : `: syntax error at line ${line}, column ${column}`;
}

function shown(text: string): string {
  return shownText(text, maxShownLength);
}

function refusedType(message: string): RmsError {
  return new RmsError('unsupported_media_type', { message });
}

function readBytes(
  request: IncomingMessage,
  { limitKib, budget, owners }: BodyOptions & { limitKib: number },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    // Later data is read and discarded, so that the client can read the response.
    const fail = (error: RmsError) => {
      chunks.length = 0;
      length = Number.POSITIVE_INFINITY;
      budget.close(body);
      reject(error);
    };
    const body = budget.open(owners, () => fail(tooManyBodies()));
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length === Number.POSITIVE_INFINITY) return;
      if (length > limitKib * 1024) return fail(tooLarge(limitKib));
      chunks.push(chunk);
      budget.receive(body, chunk.length);
    });
    request.on('end', () => {
      budget.close(body);
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
    });
    request.on('error', () => fail(refused('ended early')));
    request.on('close', () => budget.close(body));
  });
}

function tooManyBodies(): RmsError {
  const message = 'Too many request bodies are arriving slowly from this client. Send the request again.';
  return new RmsError('service_unavailable', { message });
}

function tooLarge(limitKib: number): RmsError {
  return new RmsError('payload_too_large', { message: `The request body has more than ${limitKib} KiB.` });
}

function refused(message: string, cause?: unknown): RmsError {
  return new RmsError('invalid_request', { details: [{ field: 'body', message }], cause });
}

const mib = 1024 * 1024;
/** Memory of a received chunk besides its bytes. A body can arrive in chunks of a single byte. */
const chunkOverheadBytes = 200;

/** A request body that has not arrived completely. */
interface UnfinishedBody {
  readonly owners: readonly string[];
  /** Memory of its chunks, in bytes. */
  size: number;
  /** Discards the body; its request gets 503. */
  readonly refuse: () => void;
}

/**
 * Limits the memory of request bodies that have not arrived completely, per owner and in total. Owners are client
 * networks and workspaces. Beyond a limit, the largest body of the owner is refused: in total, of the owner with the
 * most. Clients with few or small bodies are therefore not affected by a client that sends slowly on many connections.
 */
export class BodyBudget {
  readonly #ownerBytes: number;
  readonly #totalBytes: number;
  readonly #bodies = new Set<UnfinishedBody>();
  /** Memory by owner. */
  readonly #sizes = new Map<string, number>();
  #total = 0;

  constructor({ ownerBytes = 16 * mib, totalBytes = 64 * mib } = {}) {
    this.#ownerBytes = ownerBytes;
    this.#totalBytes = totalBytes;
  }

  /** Adds a body without data. The caller closes it when it has arrived or failed. */
  open(owners: readonly string[], refuse: () => void): UnfinishedBody {
    const body = { owners, size: 0, refuse };
    this.#bodies.add(body);
    return body;
  }

  /** Counts a chunk, and refuses bodies until no limit is exceeded; this one can be among them. */
  receive(body: UnfinishedBody, bytes: number): void {
    this.#resize(body, body.size + bytes + chunkOverheadBytes);
    for (const owner of body.owners) {
      while ((this.#sizes.get(owner) ?? 0) > this.#ownerBytes) this.#refuseLargest(owner);
    }
    while (this.#total > this.#totalBytes) this.#refuseLargest(this.#heaviest());
  }

  /** Idempotent. */
  close(body: UnfinishedBody): void {
    this.#resize(body, 0);
    this.#bodies.delete(body);
  }

  #resize(body: UnfinishedBody, size: number): void {
    const added = size - body.size;
    body.size = size;
    this.#total += added;
    for (const owner of body.owners) {
      const rest = (this.#sizes.get(owner) ?? 0) + added;
      if (rest > 0) this.#sizes.set(owner, rest);
      else this.#sizes.delete(owner);
    }
  }

  #heaviest(): string {
    let [heaviest, most] = ['', 0];
    for (const [owner, size] of this.#sizes) if (size > most) [heaviest, most] = [owner, size];
    return heaviest;
  }

  #refuseLargest(owner: string): void {
    let largest: UnfinishedBody | undefined;
    for (const body of this.#bodies) {
      if (body.owners.includes(owner) && body.size > (largest?.size ?? 0)) largest = body;
    }
    if (!largest) throw new Error(`no unfinished body of ${owner}`);
    this.close(largest);
    largest.refuse();
  }
}
