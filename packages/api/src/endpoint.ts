import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { TraceContext } from '@rms/async/tracing';
import { RmsError } from '@rms/base/errors';
import { type IdPrefix, isId } from '@rms/base/ids';
import type { Permission } from '@rms/base/roles';
import type { Environment } from '@rms/base/tenant';
import { idempotencyKeyProblem } from '@rms/base/value-rules';
import type { Limits } from '@rms/limits';
import { type BodyOptions, parseBody, parseQuery, type Response, readJsonBody, shownText } from '@rms/net/http';
import type { CallContextSchema, Environment as EnvironmentMessage } from '@rms/proto/rms/common/v1/common_pb';
import type { ZodType } from 'zod';
import type {} from 'zod-openapi';
import type { Backend } from './backend.ts';
import type { Tag } from './tags.ts';

// Declares the keys of `meta` that only the OpenAPI document uses.

type CallContext = MessageInitShape<typeof CallContextSchema>;

/** Limits of the caller and its workspace. 0: no limit. */
export interface CallerLimits extends Limits {
  /** Webhooks that the workspace's plan allows. undefined: the plan does not set this limit. */
  readonly maxWebhooks: bigint | undefined;
}

/**
 * An admitted request. The gateway and the dashboard authenticate the caller, check the permission that the endpoint
 * requires, and provide these fields.
 */
export interface Admitted {
  /** Tenant of the request. Every RPC request contains it, so that no call reaches data of another workspace. */
  readonly tenant: { readonly workspaceId: string; readonly environment: EnvironmentMessage };
  readonly environment: Environment;
  /** Returns whether the caller has another permission than the required one. */
  may(other: Permission): boolean;
  limits(): Promise<CallerLimits>;
  readonly requestId: string;
  readonly trace: TraceContext;
  /** Returns the context for RPCs that serve only this request. */
  context(): CallContext;
  /** The path's parameter, usually `{id}`. Empty if the path has none. */
  readonly id: string;
  /** Returns the request's URL without its query, for links. */
  url(): string;
  readonly backend: Backend;
  /**
   * Returns a signal that aborts when the client disconnects. Use it only for reads: a write continues without its
   * client.
   */
  signal(): AbortSignal;
}

/** The argument of an endpoint's handler: a request that has passed all checks. */
export interface Call<Query, Body> extends Admitted {
  readonly query: Query;
  readonly body: Body;
  /** Empty if the client sent none, or if the endpoint does not support it. */
  readonly idempotencyKey: string;
  /** Versions from If-Match. The object must have one of them. Empty: any. Only for conditional endpoints. */
  readonly expectedVersions: bigint[];
}

interface Success {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  readonly schema?: ZodType;
}

/**
 * One method of a path: its requirements, input schemas and handler. The gateway serves it to API keys, and generates
 * the OpenAPI document from it. The dashboard serves it to users, without "/v1" and below
 * "/api/workspaces/{workspace}/{environment}".
 */
export interface Endpoint<Query = unknown, Body = unknown> {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** "/v1/things", "/v1/things/{id}" or "/v1/things/{id}/verb". The parameter can have another name than `id`. */
  readonly path: `/v1/${string}`;
  readonly operationId: string;
  /** The permission that the API key must have, and the user's role unless `permissionOfUsers` is set. */
  readonly permission: Permission;
  /** The permission that the user's role must have instead. */
  readonly permissionOfUsers?: Permission;
  readonly summary: string;
  readonly description?: string;
  readonly tag: Tag;
  /** Whether the endpoint supports Idempotency-Key. */
  readonly idempotent?: boolean;
  readonly query?: ZodType<Query>;
  /** The query that users may send, if pages need filters that the API does not have. */
  readonly queryOfUsers?: ZodType<Query>;
  readonly body?: ZodType<Body>;
  /** Whether the body identifies another object. If that does not exist, the response is 404. */
  readonly bodyNamesObject?: boolean;
  /** Whether a request without a body is treated like one with `{}`. */
  readonly optionalBody?: boolean;
  /**
   * Whether the endpoint concerns one object and returns it with an ETag (see `oneResponse`). Then GET supports
   * If-None-Match, and PATCH, PUT and DELETE support If-Match.
   */
  readonly conditional?: boolean;
  readonly success: Success;
  /** Another successful response, with another status. */
  readonly otherSuccess?: Success;
  handle(call: Call<Query, Body>): Promise<Response>;
}

/** Returns a path parameter's name; undefined if it has none. */
export function parameterOf(path: string): string | undefined {
  return /\{(\w+)\}/.exec(path)?.[1];
}

/** Type-checks an endpoint against its own schemas, then erases their types so that all endpoints fit in one list. */
export function defineEndpoint<Query, Body>(endpoint: Endpoint<Query, Body>): Endpoint {
  return endpoint as Endpoint;
}

export interface ServedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly bodyOptions: () => BodyOptions;
  /** Returns the key for the RPC. `sent` is the Idempotency-Key of the request; empty if it has none. */
  readonly idempotencyKeyOf?: (sent: string, body: unknown) => string;
}

/**
 * Serves an admitted request: validates Idempotency-Key, conditions, query and body, in this order, and calls the
 * handler. Throws the error of the first failing check.
 */
export async function serveEndpoint(
  endpoint: Endpoint,
  admitted: Admitted,
  { request, response: outgoing, bodyOptions, idempotencyKeyOf: keyOf = (sent) => sent }: ServedRequest,
): Promise<Response> {
  const sentKey = endpoint.idempotent ? idempotencyKeyOf(request) : '';
  const isGet = endpoint.method === 'get';
  const expectedVersions = endpoint.conditional && !isGet ? expectedVersionsOf(request) : [];
  const query = parseQuery(endpoint.query, request.url ?? '');
  let body: unknown;
  if (endpoint.body) {
    const isOmitted = endpoint.optionalBody && isEmpty(request);
    body = parseBody(endpoint.body, isOmitted ? {} : await readJsonBody(request, outgoing, bodyOptions()));
  }
  const idempotencyKey = sentKey && keyOf(sentKey, body);
  const response = await endpoint.handle({ ...admitted, query, body, idempotencyKey, expectedVersions });
  const unchanged = isGet && endpoint.conditional && isUnchanged(request, response);
  return unchanged ? { status: 304, headers: response.headers ?? {} } : response;
}

/** Returns whether a request has no body. */
function isEmpty({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  return encoding === undefined && Number(length ?? 0) === 0;
}

/** Returns the Idempotency-Key of a request. Empty if the header is missing. Throws `invalid_request`. */
export function idempotencyKeyOf({ headers }: IncomingMessage): string {
  const key = headers['idempotency-key'];
  if (key === undefined) return '';
  const message = idempotencyKeyProblem(String(key));
  if (message === undefined) return String(key);
  throw new RmsError('invalid_request', { details: [{ field: 'Idempotency-Key', message }] });
}

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
const maxShownIdLength = 64;
/** In hexadecimal digits: 96 bits. */
const digestLength = 24;

/** Throws `not_found` for a malformed ID, without a lookup. The message does not repeat secrets. */
export function checkId(prefix: Checked, id: string): void {
  if (isId(prefix, id)) return;
  throw new RmsError('not_found', {
    message: `There is no ${nouns[prefix]} "${shownText(id, maxShownIdLength)}". IDs of ${pluralOf(nouns[prefix])} start with "${prefix}_".`,
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
