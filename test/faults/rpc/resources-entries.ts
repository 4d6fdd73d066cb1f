import { ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import type { ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import { type Entries, notFoundItem } from './entry.ts';
import { contextOf, idempotencyKey, ownersName } from './owned.ts';

const missing = { results: [notFoundItem] };

export const resourcesEntries: Entries<typeof ResourcesService> = {
  batchCreateResources: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    // Repeats the owner's request with the owner's idempotency key.
    attempts: ({ resources }, as) => {
      const request = { context: contextOf(as), name: ownersName, idempotencyKey };
      const created = { results: [{ result: { case: 'resource' }, replayed: false }] };
      return [[() => resources.batchCreateResources({ requests: [request] }), created]];
    },
  },
  batchGetResources: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    attempts: ({ resources }, as, { resourceId: id }) => [
      [() => resources.batchGetResources({ requests: [{ context: contextOf(as), id }] }), missing],
    ],
  },
  batchUpdateResources: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    attempts: ({ resources }, as, { resourceId: id }) => {
      const request = { context: contextOf(as), id };
      return [
        [() => resources.batchUpdateResources({ requests: [{ ...request, name: 'Taken' }] }), missing],
        [
          () => resources.batchUpdateResources({ requests: [{ ...request, status: ResourceStatus.ARCHIVED }] }),
          missing,
        ],
        [() => resources.batchUpdateResources({ requests: [request] }), missing],
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
        // The gRPC metadata contain another caller than the request; the request takes precedence.
        [() => resources.listResources({ context, pageSize: 100 }, { context: contextOf(owner) }), {}],
      ];
    },
  },
};
