import { isEmailAddress, type Rule } from '../rule/rule.ts';

const maxAddresses = 50;

/** Owners of the workspace, and addresses that get no emails of the rule. */
interface Circumstances {
  readonly owners: readonly string[];
  readonly unsubscribed: readonly string[];
  /** In lower case. */
  readonly unconfirmed: ReadonlySet<string>;
}

/** Returns the addresses for a rule's emails. Excludes duplicates, and unsubscribed and unconfirmed addresses. */
export function addressesOf(
  rule: Pick<Rule, 'recipients' | 'toOwners'>,
  { owners, unsubscribed, unconfirmed }: Circumstances,
): string[] {
  const refused = new Set([...unsubscribed.map((address) => address.toLowerCase()), ...unconfirmed]);
  const all = new Map<string, string>();
  for (const address of [...rule.recipients, ...(rule.toOwners ? owners : [])]) {
    const plain = address.toLowerCase();
    if (!refused.has(plain) && !all.has(plain) && isEmailAddress(address)) all.set(plain, address);
  }
  return [...all.values()].slice(0, maxAddresses);
}
