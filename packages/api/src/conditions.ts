import type { IncomingMessage } from 'node:http';
import { RmsError } from '@rms/base/errors';
import type { Response } from '@rms/net/http';

/**
 * Matches one entity tag at `lastIndex` (RFC 9110, 13.1.1), and the commas around it: a proxy that joins two headers can
 * leave empty elements of the list (5.6.1).
 */
const entityTag = /[ \t,]*(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*(?:,[ \t,]*|$)/y;
/** Suffixes that compressing proxies append to an entity tag: Apache, and modules for other encodings. */
const encodingSuffix = /(?:-{1,2}|;)(?:gzip|br|zstd|deflate)$/;
/** Version of an entity tag that this service did not issue. No object has it. */
const noVersion = -1n;
const maxVersion = 2n ** 63n - 1n;

/**
 * Returns the versions in If-Match; empty without the header and for `*`. Accepts weak entity tags too, because
 * proxies that compress responses weaken them. Throws `invalid_request`.
 */
export function expectedVersionsOf({ headers }: IncomingMessage): bigint[] {
  const tags = tagsOf('If-Match', headers['if-match']);
  return tags === '*' ? [] : tags.map(versionOf);
}

/** Returns whether If-None-Match contains a response's ETag. Throws `invalid_request`. */
export function isUnchanged({ headers }: IncomingMessage, response: Response): boolean {
  const tags = tagsOf('If-None-Match', headers['if-none-match']);
  const current = response.headers?.ETag;
  return current !== undefined && (tags === '*' || tags.some((tag) => current === `"${tag}"`));
}

/** Returns the entity tags of a header without their quotes. Throws `invalid_request`. */
function tagsOf(field: string, header: string | undefined): string[] | '*' {
  if (header === undefined) return [];
  if (header.trim() === '*') return '*';
  const tags: string[] = [];
  entityTag.lastIndex = 0;
  do {
    const match = entityTag.exec(header);
    if (!match) {
      throw new RmsError('invalid_request', { details: [{ field, message: 'must be `*` or a list of entity tags' }] });
    }
    tags.push((match[1] as string).replace(encodingSuffix, ''));
  } while (entityTag.lastIndex < header.length);
  return tags;
}

/** Returns the version in an entity tag made by `oneResponse`. */
function versionOf(tag: string): bigint {
  const [, digits] = /^(\d{1,19})\./.exec(tag) ?? [];
  const version = BigInt(digits ?? noVersion);
  return version > maxVersion ? noVersion : version;
}
