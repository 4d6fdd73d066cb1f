import { hash } from 'node:crypto';
import { RmsError } from '@rms/base/errors';
import { type IdPrefix, isId } from '@rms/base/ids';
import { type Response, shownText } from '@rms/net/http';

type Checked = Extract<IdPrefix, 'res' | 'wh' | 'key' | 'evt' | 'dlv' | 'rpl' | 'inc' | 'chn' | 'usr' | 'inv'>;

const nouns: Readonly<Record<Checked, string>> = {
  res: 'resource',
  wh: 'webhook',
  key: 'API key',
  evt: 'event',
  dlv: 'delivery',
  rpl: 'replay',
  inc: 'incident',
  chn: 'alert channel',
  usr: 'member',
  inv: 'invitation',
};
const maxShownLength = 64;
/** In hexadecimal digits: 96 bits. */
const digestLength = 24;

/** Throws `not_found` for a malformed ID, without a lookup. The message does not repeat secrets. */
export function checkId(prefix: Checked, id: string): void {
  if (isId(prefix, id)) return;
  throw new RmsError('not_found', {
    message: `There is no ${nouns[prefix]} "${shownText(id, maxShownLength)}". IDs of ${pluralOf(nouns[prefix])} start with "${prefix}_".`,
  });
}

function pluralOf(noun: string): string {
  return noun.endsWith('y') && noun !== 'API key' ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}

/** A single object for a response. */
export interface OneObject {
  readonly json: string;
  /** Increases with every change of the stored object; undefined for objects that clients cannot change. */
  readonly version?: bigint;
  /** JSON for the ETag, if `json` contains a secret or the current time. */
  readonly stableJson?: string;
}

/**
 * Returns a response with one object. Its ETag has the form "<version>.<digest of the JSON>". If-None-Match compares
 * both parts. If-Match compares only the version, so that fields that change without an update, such as the health of a
 * webhook, do not prevent an update.
 * @param replayed whether this is the stored response of an earlier request with the same Idempotency-Key
 */
export function oneResponse(
  status: 200 | 201 | 202,
  { json, version = 0n, stableJson = json }: OneObject,
  replayed = false,
): Response {
  // No base64: a digest that ends with `-` before the suffix of a proxy (`-gzip`) would be read as one character less.
  const digest = hash('sha256', stableJson, 'hex').slice(0, digestLength);
  return {
    status,
    json: oneJson(json),
    headers: { ETag: `"${version}.${digest}"`, ...replayedHeader(replayed) },
  };
}

/** Returns a stored response's header; see `oneResponse`. */
export function replayedHeader(replayed: boolean): Record<string, string> {
  return replayed ? { 'Idempotency-Replayed': 'true' } : {};
}

/** Wraps a single object's JSON in the response envelope. */
export function oneJson(json: string): string {
  return `{"data":${json}}`;
}
