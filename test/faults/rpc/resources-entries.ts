import { ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import { type Entries, inOne, notFoundItem } from './entry.ts';
import { contextOf, idempotencyKey, ownersName } from './owned.ts';

const missing = { results: [notFoundItem] };

export const resourcesEntries: Entries<'resources'> = {
  resources: {
    // Repeats the owner's request with the owner's idempotency key.
    batchCreateResources: inOne((_, as) => [
      [
        { requests: [{ context: contextOf(as), name: ownersName, idempotencyKey }] },
        { results: [{ result: { case: 'resource' }, replayed: false }] },
      ],
    ]),
    batchGetResources: inOne(({ resourceId: id }, as) => [[{ requests: [{ context: contextOf(as), id }] }, missing]]),
    batchUpdateResources: inOne(({ resourceId: id }, as) => {
      const request = { context: contextOf(as), id };
      return [
        [{ requests: [{ ...request, name: 'Taken' }] }, missing],
        [{ requests: [{ ...request, status: ResourceStatus.ARCHIVED }] }, missing],
        [{ requests: [request] }, missing],
      ];
    }),
    batchDeleteResources: inOne(({ resourceId: id }, as) => [
      [{ requests: [{ context: contextOf(as), id }] }, { results: [{ error: { code: 5 } }] }],
    ]),
    listResources: inOne(({ owner, pageTokens }, as) => {
      const context = contextOf(as);
      return [
        [{ context, pageSize: 100 }, {}],
        [{ context, pageSize: 100, status: ResourceStatus.ARCHIVED }, { totalSize: 0n }],
        [{ context, pageSize: 1, pageToken: pageTokens.resources }, 'invalid_request'],
        // The gRPC metadata contain another caller than the request; the request takes precedence.
        [{ context, pageSize: 100 }, {}, { context: contextOf(owner) }],
      ];
    }),
  },
};
