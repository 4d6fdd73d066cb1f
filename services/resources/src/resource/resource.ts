import { type FieldViolation, RmsError } from '@rms/errors';
import { type Ids, idTime } from '@rms/ids';
import type { Tenant } from '@rms/tenant';

export type ResourceStatus = 'active' | 'inactive' | 'archived';
export type InputType = 'standard' | 'advanced';

/** The three statuses in alphabetical order. */
export const statuses: readonly ResourceStatus[] = ['active', 'archived', 'inactive'];

export interface Resource extends Tenant {
  readonly id: string;
  readonly status: ResourceStatus;
  readonly name: string;
  /** A JSON object with string values, as text. */
  readonly metadataJson: string;
  readonly inputType: InputType;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Version of the resource: counts its events from 1. */
  readonly sequence: number;
}

/** The changes of a PATCH. Undefined attributes stay unchanged. */
export interface ResourceUpdate {
  readonly name: string | undefined;
  readonly status: ResourceStatus | undefined;
  readonly metadataJson: string | undefined;
}

const nameLimit = 255;
const metadataPairLimit = 50;
const metadataKeyLimit = 40;
const metadataValueLimit = 500;

/** Makes a new active resource. Its creation time is the time in its ID. */
export function makeResource(
  tenant: Tenant,
  input: { name: string; inputType: InputType; metadataJson: string },
  newId: Ids,
): Resource {
  const id = newId('res');
  const createdAt = new Date(idTime(id));
  return { ...tenant, ...input, id, status: 'active', createdAt, updatedAt: createdAt, sequence: 1 };
}

/**
 * Applies a PATCH. Returns the new resource and the previous values of the changed attributes. If none changed, the
 * resource is returned unchanged.
 */
export function applyUpdate(
  resource: Resource,
  update: ResourceUpdate,
  now: Date,
): { resource: Resource; previous: PreviousAttributes } {
  const name = update.name ?? resource.name;
  const status = update.status ?? resource.status;
  const metadataJson = update.metadataJson ?? resource.metadataJson;
  const previous: PreviousAttributes = {
    ...(name !== resource.name ? { name: resource.name } : {}),
    ...(status !== resource.status ? { status: resource.status } : {}),
    ...(sameMetadata(metadataJson, resource.metadataJson) ? {} : { metadataJson: resource.metadataJson }),
  };
  if (Object.keys(previous).length === 0) return { resource, previous };
  return { resource: { ...resource, name, status, metadataJson, updatedAt: nextUpdateTime(resource, now) }, previous };
}

/** Returns the time of a change: strictly increasing, even if the clocks of two instances differ. */
export function nextUpdateTime({ updatedAt }: Resource, now: Date): Date {
  return new Date(Math.max(now.getTime(), updatedAt.getTime() + 1));
}

/** Fields that a change replaced, with their previous values. */
export type PreviousAttributes = Partial<Pick<Resource, 'name' | 'status' | 'metadataJson'>>;

function sameMetadata(a: string, b: string): boolean {
  return a === b || canonicalMetadata(a) === canonicalMetadata(b);
}

/** Returns the metadata as text with sorted keys, so that equal maps have equal texts. */
export function canonicalMetadata(metadataJson: string): string {
  const pairs = Object.entries(JSON.parse(metadataJson) as Record<string, string>);
  return JSON.stringify(pairs.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Checks the length limits of the name (specification, "Limits"). */
export function checkName(name: string): FieldViolation[] {
  const length = codePoints(name);
  if (length < 1 || length > nameLimit) {
    return [{ field: 'name', message: `must have 1 to ${nameLimit} characters, has ${length}` }];
  }
  return storable(name) ? [] : [{ field: 'name', message: 'must not contain NUL or unpaired surrogates' }];
}

/** Checks the metadata (specification, "Metadata rules"). Returns it as normalized JSON. */
export function checkMetadata(metadataJson: string): { metadataJson: string; violations: FieldViolation[] } {
  const violations: FieldViolation[] = [];
  let metadata: unknown;
  try {
    metadata = metadataJson === '' ? {} : JSON.parse(metadataJson);
  } catch {
    metadata = undefined;
  }
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) {
    return { metadataJson, violations: [{ field: 'metadata', message: 'must be an object of strings' }] };
  }
  const pairs = Object.entries(metadata);
  if (pairs.length > metadataPairLimit) {
    violations.push({
      field: 'metadata',
      message: `must have at most ${metadataPairLimit} pairs, has ${pairs.length}`,
    });
  }
  for (const [key, value] of pairs) {
    const field = `metadata.${key}`;
    const keyLength = codePoints(key);
    if (keyLength < 1 || keyLength > metadataKeyLimit) {
      violations.push({ field, message: `a key must have 1 to ${metadataKeyLimit} characters` });
    }
    if (typeof value !== 'string') violations.push({ field, message: 'must be a string' });
    else if (codePoints(value) > metadataValueLimit) {
      violations.push({ field, message: `a value must have at most ${metadataValueLimit} characters` });
    }
    if (!storable(key) || (typeof value === 'string' && !storable(value))) {
      violations.push({ field, message: 'must not contain NUL or unpaired surrogates' });
    }
  }
  return { metadataJson: JSON.stringify(metadata), violations };
}

/** Throws `invalid_request` if there are any violations. */
export function refuse(violations: readonly FieldViolation[]): void {
  if (violations.length > 0) throw new RmsError('invalid_request', { details: violations });
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** Reports whether PostgreSQL can store the text: no NUL characters and no lone surrogates. */
function storable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}
