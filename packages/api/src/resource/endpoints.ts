import { InputType, ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import { z } from 'zod';
import { defineEndpoint } from '../endpoint.ts';
import { listOf, listResponse, pageQuery, pageSizeOf } from '../list.ts';
import { checkId, oneResponse } from '../single-object.ts';
import { oneResourceOf, resourceJson } from './document.ts';
import {
  createResourceBody,
  inputTypeMessages,
  oneResource,
  resource,
  status,
  statusMessages,
  updateResourceBody,
} from './schema.ts';

export const createResource = defineEndpoint({
  method: 'post',
  path: '/v1/resources',
  operationId: 'createResource',
  summary: 'Create a resource',
  description: 'Emits `resource.created`.',
  tag: 'Resources',
  permission: 'resources:write',
  idempotent: true,
  body: createResourceBody,
  conditional: true,
  success: { status: 201, description: 'The new resource.', schema: oneResource },
  async handle({ body, tenant, requestId, trace, idempotencyKey, backend }) {
    const { resource, replayed } = await backend.createResource({
      context: { requestId, ...trace, principal: tenant },
      name: body.name,
      inputType: body.type ? inputTypeMessages[body.type] : InputType.UNSPECIFIED,
      metadataJson: body.metadata ? JSON.stringify(body.metadata) : '',
      idempotencyKey,
    });
    return oneResponse(201, oneResourceOf(resource), replayed);
  },
});

export const getResource = defineEndpoint({
  method: 'get',
  path: '/v1/resources/{id}',
  operationId: 'getResource',
  summary: 'Get a resource',
  tag: 'Resources',
  permission: 'resources:read',
  conditional: true,
  success: { status: 200, description: 'The resource.', schema: oneResource },
  async handle({ id, tenant, requestId, trace, backend }) {
    checkId('res', id);
    const resource = await backend.getResource({ context: { requestId, ...trace, principal: tenant }, id });
    return oneResponse(200, oneResourceOf(resource));
  },
});

const sortFields = ['created_at', 'updated_at', 'name'] as const;

export const listResources = defineEndpoint({
  method: 'get',
  path: '/v1/resources',
  operationId: 'listResources',
  summary: 'List resources',
  tag: 'Resources',
  permission: 'resources:read',
  query: z.strictObject({
    status: status.optional().describe('Only resources with this status.'),
    ...pageQuery,
    sort: z
      .enum(sortFields.flatMap((field) => [field, `-${field}`] as const))
      .optional()
      .describe(
        'Field to sort by. A leading `-` means descending. Names are sorted without regard to case and accents.',
      )
      .meta({ override: { default: '-created_at' } }),
  }),
  success: { status: 200, description: 'A page of resources.', schema: listOf(resource).meta({ id: 'ResourceList' }) },
  async handle({ query, tenant, requestId, backend, url, signal }) {
    const context = { requestId, principal: tenant };
    const page = await backend.listResources(
      {
        context,
        status: query.status ? statusMessages[query.status] : ResourceStatus.UNSPECIFIED,
        pageSize: pageSizeOf(query),
        pageToken: query.cursor ?? '',
        orderBy: query.sort ?? '',
      },
      { context, signal: signal() },
    );
    return listResponse(page.resources.map(resourceJson), page, url(), query);
  },
});

export const updateResource = defineEndpoint({
  method: 'patch',
  path: '/v1/resources/{id}',
  operationId: 'updateResource',
  summary: 'Update a resource',
  description:
    'Changes only the fields in the request. Emits `resource.updated`, and `resource.status_changed` if the status ' +
    'changes. Emits nothing if the request changes nothing.',
  tag: 'Resources',
  permission: 'resources:write',
  body: updateResourceBody,
  conditional: true,
  success: { status: 200, description: 'The updated resource.', schema: oneResource },
  async handle({ id, body, expectedVersions, tenant, requestId, trace, backend }) {
    checkId('res', id);
    const { name, status, metadata } = body;
    const resource = await backend.updateResource({
      context: { requestId, ...trace, principal: tenant },
      id,
      expectedVersions,
      ...(name === undefined ? {} : { name }),
      ...(status === undefined ? {} : { status: statusMessages[status] }),
      ...(metadata === undefined ? {} : { metadataJson: JSON.stringify(metadata) }),
    });
    return oneResponse(200, oneResourceOf(resource));
  },
});

export const deleteResource = defineEndpoint({
  method: 'delete',
  path: '/v1/resources/{id}',
  operationId: 'deleteResource',
  summary: 'Delete a resource',
  description: 'Deletes the resource and its metadata permanently. Emits `resource.deleted`.',
  tag: 'Resources',
  permission: 'resources:write',
  conditional: true,
  success: { status: 204, description: 'The resource was deleted.' },
  async handle({ id, expectedVersions, tenant, requestId, trace, backend }) {
    checkId('res', id);
    await backend.deleteResource({ context: { requestId, ...trace, principal: tenant }, id, expectedVersions });
    return { status: 204 };
  },
});

export const resourceEndpoints = [createResource, getResource, listResources, updateResource, deleteResource];
