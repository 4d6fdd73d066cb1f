import type { FieldViolation } from '@rms/base/errors';
import type { Tenant } from '@rms/base/tenant';
import { textProblem } from '@rms/base/value-rules';
import { isEmailAddress } from '../rule/rule.ts';

export type ChannelType = 'email' | 'pagerduty' | 'slack' | 'webhook';

/** A destination of alerts; see rms.alerts.v1.Channel. */
export interface Channel extends Tenant {
  readonly id: string;
  readonly type: ChannelType;
  readonly name: string;
  /** Of type email. */
  readonly addresses: readonly string[];
  /** Of type webhook; otherwise empty. */
  readonly url: string;
  /** Encrypted URL (slack), routing key (pagerduty) or signing secret (webhook); undefined for type email. */
  readonly secret: Buffer | undefined;
  readonly hint: string;
  readonly version: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Request fields; undefined: not given. */
export interface ChannelFields {
  readonly name: string | undefined;
  readonly addresses: readonly string[] | undefined;
  readonly url: string | undefined;
  readonly routingKey: string | undefined;
}

/** The field that describes the destination of each type. */
const destinations = {
  email: 'addresses',
  pagerduty: 'routingKey',
  slack: 'url',
  webhook: 'url',
} as const satisfies Record<ChannelType, keyof ChannelFields>;

const fieldNames = { addresses: 'addresses', url: 'url', routingKey: 'routing_key' } as const;

export const maxChannels = 50;
const maxAddresses = 20;
const nameLength = 100;

/**
 * Validates a channel's fields, without its URL. `isNew`: the name and the destination are required. Returns an empty
 * list if they are valid.
 */
export function checkChannel(type: ChannelType, fields: ChannelFields, isNew: boolean): FieldViolation[] {
  const own = destinations[type];
  const violations: FieldViolation[] = [];
  const refuse = (field: string, message: string) => violations.push({ field, message });
  const nameProblem = fields.name === undefined ? undefined : textProblem(fields.name, 1, nameLength);
  if (isNew && fields.name === undefined) refuse('name', 'is required');
  if (nameProblem) refuse('name', nameProblem);
  for (const field of ['addresses', 'url', 'routingKey'] as const) {
    const value = fields[field];
    // An empty list is what a channel of another type has.
    const isGiven = value !== undefined && (field === own || value.length > 0);
    if (field !== own && isGiven) refuse(fieldNames[field], `is not supported by a channel of type ${type}`);
    if (field === own && isNew && !isGiven) refuse(fieldNames[field], 'is required');
  }
  const { addresses, routingKey } = fields;
  if (own === 'addresses' && addresses) {
    if (addresses.length === 0 || addresses.length > maxAddresses) {
      refuse('addresses', `must have 1 to ${maxAddresses} addresses`);
    }
    if (!addresses.every(isEmailAddress)) refuse('addresses', 'must be email addresses');
  }
  if (own === 'routingKey' && routingKey !== undefined && !/^[\w-]{8,64}$/.test(routingKey)) {
    refuse('routing_key', 'must be 8 to 64 letters, digits, "-" or "_"');
  }
  return violations;
}

/** Number of characters of a secret that its hint shows. */
const hintLength = 4;

/** Returns a secret's end, to recognize it. */
export function hintOf(secret: string): string {
  return `…${secret.slice(-hintLength)}`;
}
