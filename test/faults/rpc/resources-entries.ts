import { ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import type { ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import { type Entries, notFoundItem } from './entry.ts';
import { contextOf, idempotencyKey, ownersName } from './owned.ts';

const gone = { results: [notFoundItem] };

export const resourcesEntries: Entries<typeof ResourcesService> = {
  batchCreateResources: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    // The owner's request with the owner's idempotency key.
    attempts: ({ resources }, as) => {
      const request = { context: contextOf(as), name: ownersName, idempotencyKey };
      const made = { results: [{ result: { case: 'resource' }, replayed: false }] };
      return [[() => resources.batchCreateResources({ requests: [request] }), made]];
    },
  },
  batchGetResources: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    attempts: ({ resources }, as, { resourceId: id }) => [
      [() => resources.batchGetResources({ requests: [{ context: contextOf(as), id }] }), gone],
    ],
  },
  batchUpdateResources: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    attempts: ({ resources }, as, { resourceId: id }) => {
      const request = { context: contextOf(as), id };
      return [
        [() => resources.batchUpdateResources({ requests: [{ ...request, name: 'Taken' }] }), gone],
        [() => resources.batchUpdateResources({ requests: [{ ...request, status: ResourceStatus.ARCHIVED }] }), gone],
        [() => resources.batchUpdateResources({ requests: [request] }), gone],
      ];
    },
  },
  batchDeleteResources: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    attempts: ({ resources }, as, { resourceId: id }) => [
      [
        () => resources.batchDeleteResources({ requests: [{ context: contextOf(as), id }] }),
        { results: [{ error: { code: 5 } }] },
      ],
    ],
  },
  listResources: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    attempts: ({ resources }, as, { owner, pageTokens }) => {
      const context = contextOf(as);
      return [
        [() => resources.listResources({ context, pageSize: 100 }), {}],
        [() => resources.listResources({ context, pageSize: 100, status: ResourceStatus.ARCHIVED }), { totalSize: 0n }],
        [() => resources.listResources({ context, pageSize: 1, pageToken: pageTokens.resources }), 'invalid_request'],
        // Metadata name another caller than the request: the request counts.
        [() => resources.listResources({ context, pageSize: 100 }, { context: contextOf(owner) }), {}],
      ];
    },
  },
};
