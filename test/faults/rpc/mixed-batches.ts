import { Scope } from '@rms/proto/rms/common/v1/common_pb';
import type { Caller } from './entry.ts';
import { contextOf, ownersName } from './owned.ts';
import type { Rpc } from './rpc.ts';

/** Returns every pair of a caller and an object, as "caller > owner", with pairs of strangers first. */
function pairsOf<T>(callers: readonly Caller[], things: readonly T[]) {
  const pairs = callers.flatMap((caller, i) => things.map((thing, j) => ({ caller, thing, i, j })));
  return pairs.sort((a, b) => Number(a.i === a.j) - Number(b.i === b.j));
}

/** Per method, sends all pairs in one batch and returns the pairs with an item that succeeded. */
export async function mixedBatches(rpc: Rpc, callers: readonly Caller[]): Promise<Record<string, string[]>> {
  const { resources, keys } = rpc;
  const created = await resources.batchCreateResources({
    requests: callers.map((caller) => ({ context: contextOf(caller), name: ownersName, idempotencyKey: 'mixed' })),
  });
  const ids = created.results.map(({ result }) => (result.case === 'resource' ? result.value.id : ''));
  const pairs = pairsOf(callers, ids);
  const requests = pairs.map(({ caller, thing: id }) => ({ context: contextOf(caller), id }));
  const granted = (results: { error?: unknown; result?: { case?: string | undefined } }[]) =>
    pairs
      .filter((_, k) => results[k]?.error === undefined && results[k]?.result?.case !== 'error')
      .map(({ i, j }) => `${i} > ${j}`);

  const found = await resources.batchGetResources({ requests });
  const updates = pairs.map(({ i }, k) => ({ ...requests[k], name: `of ${i}` }));
  const updated = await resources.batchUpdateResources({ requests: updates });
  const named = await resources.batchGetResources({
    requests: callers.map((caller, i) => ({ context: contextOf(caller), id: ids[i] ?? '' })),
  });
  const deleted = await resources.batchDeleteResources({ requests });

  const keyIds: string[] = [];
  for (const caller of callers) {
    keyIds.push((await keys.createKey({ ...caller, scope: Scope.READ, name: ownersName })).key?.id ?? '');
  }
  const keyPairs = pairsOf(callers, keyIds);
  const revoked = await keys.batchRevokeKeys({
    requests: keyPairs.map(({ caller: { workspaceId }, thing: id }) => ({ workspaceId, id })),
  });
  return {
    created: [...new Set(ids)].filter((id) => id !== ''),
    replayed: created.results.filter(({ replayed }) => replayed).map(({ result }) => `${result.case}`),
    found: granted(found.results),
    updated: granted(updated.results),
    names: named.results.map(({ result }) => (result.case === 'resource' ? result.value.name : '')),
    deleted: granted(deleted.results),
    revoked: keyPairs.filter((_, k) => revoked.results[k]?.result.case === 'key').map(({ i, j }) => `${i} > ${j}`),
  };
}
