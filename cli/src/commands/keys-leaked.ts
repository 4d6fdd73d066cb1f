import { fullKeyDocument } from '@rms/api/key/document';
import { isValidKey } from '@rms/api/rules';
import { hashOfApiKey, hintOfApiKey } from '@rms/base/api-key';
import type { FoundKey } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Command } from 'commander';
import { inBatches } from '../batches.ts';
import { withServices } from '../connect.ts';
import { findKeysInText, readText } from '../find-in-text.ts';
import { describeKey } from '../keys.ts';
import { note, print } from '../print.ts';
import { failUnlessAll, type Revocation, revokeKeys } from '../revoke.ts';
import type { Services } from '../services.ts';

const limitBytes = 10_000_000;

/** Reads the text from stdin only, because other users of the machine can see command line arguments. */
export function keysLeakedCommand(): Command {
  return new Command('leaked')
    .description(
      'find API keys of this installation in a text on stdin (a paste, a log, a repository) and show their details',
    )
    .option('--revoke', 'revoke the keys that are still valid, after showing them')
    .action(async (options: { revoke?: boolean; json?: boolean }) => {
      if (process.stdin.isTTY) note('Paste the text, then press Ctrl-D.');
      const { keys, mistyped } = findKeysInText(await readText(process.stdin, limitBytes));
      if (keys.length === 0) {
        throw new Error(
          `The text contains no keys.${mistyped ? ` Strings that look like a key but have a wrong checksum: ${mistyped}.` : ''}`,
        );
      }
      await withServices(['keys'], async (services) => {
        const found = await lookUp(services, keys);
        if (!options.json) print(options, {}, () => found.map(describe).join('\n\n'));
        let outcome: Revocation = { revoked: [], failed: [] };
        try {
          if (options.revoke) outcome = await revokeKeys(services, found.filter(isStillValid).map(refOf));
        } finally {
          // Prints the details even if the revocation fails.
          if (options.json) print(options, documentOf(found, outcome), () => '');
        }
        if (options.revoke && !options.json) print(options, {}, () => `\n${summaryOf(outcome)}`);
        failUnlessAll(outcome);
      });
    });
}

type Found = Awaited<ReturnType<typeof lookUp>>[number];

/** Looks up the keys by their hashes. The key values are not sent to auth. */
async function lookUp({ keys }: Pick<Services, 'keys'>, values: readonly string[]) {
  const results: FoundKey[] = [];
  for (const batch of inBatches(values)) {
    results.push(...(await keys.batchFindKeys({ keyHashes: batch.map(hashOfApiKey) })).results);
  }
  return values.map((value, i) => {
    const { key, workspaceName = '' } = results[i] ?? {};
    if (!key) return { hint: hintOfApiKey(value), known: false as const };
    const document = fullKeyDocument(key);
    return {
      ...document,
      known: true as const,
      valid: isValidKey(document),
      workspace_id: key.workspaceId,
      workspace_name: workspaceName,
    };
  });
}

type KnownKey = Extract<Found, { known: true }>;

function isStillValid(found: Found): found is KnownKey {
  return found.known && found.valid;
}

function refOf({ workspace_id: workspaceId, id }: KnownKey) {
  return { workspaceId, id };
}

function describe(found: Found): string {
  if (!found.known) return `${found.hint} is a well-formed key, but not a key of this installation`;
  return describeKey(found, [['workspace', `${found.workspace_id} (${found.workspace_name})`]]);
}

/** Returns the JSON output, with the keys' state after the revocation. */
function documentOf(found: readonly Found[], { revoked, failed }: Revocation) {
  const after = new Map(revoked.map((key) => [key.id, { ...fullKeyDocument(key), valid: false }]));
  const data = found.map((one) => (one.known ? { ...one, ...after.get(one.id) } : one));
  return { data, revoked: [...after.keys()], failed };
}

function summaryOf({ revoked, failed }: Revocation): string {
  const lines = revoked.map(({ id }) => `Revoked ${id}.`);
  return lines.length + failed.length === 0 ? 'None of the keys was still valid.' : lines.join('\n');
}
