import { resourceNameLength } from '@rms/base/value-rules';
import { InputType, type Resource, ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import { enumNames } from '@rms/rpc/enum-names';
import { z } from 'zod';
import { checkId, defineEndpoint, type OneObject, oneResponse } from '../endpoint.ts';
import { text } from '../field-schemas.ts';
import { flag, listResponse, pageQuery, pageSizeOf } from '../list.ts';
import { presentTimeOf } from '../times.ts';
import { createResourceBody, metadataFilter, oneResource, resourceList, status, updateResourceBody } from './schema.ts';

const resourceStatuses = enumNames(ResourceStatus);
const inputTypes = enumNames(InputType);

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
  async handle({ context, body, idempotencyKey, backend }) {
    const { resource, replayed } = await backend.createResource({
      context: context(),
      name: body.name,
      inputType: body.type ? inputTypes.toValue(body.type) : InputType.UNSPECIFIED,
      metadataJson: body.metadata ? JSON.stringify(body.metadata) : '',
      idempotencyKey,
    });
    return oneResponse(201, oneResourceOf(resource), replayed);
  },
});

const getResource = defineEndpoint<{ input_type?: 'true' | 'false' | undefined } | undefined, unknown>({
  method: 'get',
  path: '/v1/resources/{id}',
  operationId: 'getResource',
  summary: 'Get a resource',
  tag: 'Resources',
  permission: 'resources:read',
  conditional: true,
  queryOfUsers: z.strictObject({ input_type: flag.describe('true: also returns `type` of the create request.') }),
  success: { status: 200, description: 'The resource.', schema: oneResource },
  async handle({ context, id, query, backend }) {
    checkId('res', id);
    const resource = await backend.getResource({ context: context(), id });
    return oneResponse(200, oneResourceOf(resource, query?.input_type === 'true'));
  },
});

const sortFields = ['created_at', 'updated_at', 'name'] as const;

const listQuery = z
  .strictObject({
    status: status.optional().describe('Only resources with this status.'),
    ...pageQuery,
    sort: z
      .enum(sortFields.flatMap((field) => [field, `-${field}`] as const))
      .optional()
      .describe(
        'Field to sort by. A leading `-` means descending. Names are sorted without regard to case and accents.',
      )
      .meta({ override: { default: '-created_at' } }),
    name_prefix: text(1, resourceNameLength)
      .optional()
      .describe('Only resources whose name begins so, without regard to case and accents. Sorts by name.'),
    metadata: metadataFilter,
  })
  .meta({ example: { status: 'active', sort: 'name' } });

export const listResources = defineEndpoint<z.infer<typeof listQuery>, unknown>({
  method: 'get',
  path: '/v1/resources',
  operationId: 'listResources',
  summary: 'List resources',
  tag: 'Resources',
  description:
    'A list by `name_prefix` or `metadata` is not counted. A list by `metadata` is sorted by `created_at`; its pages can ' +
    'have fewer items than `per_page`, or none, although `links.next` is set, because each request reads at most 20,000 ' +
    'resources with the first pair.',
  permission: 'resources:read',
  query: listQuery,
  success: { status: 200, description: 'A page of resources.', schema: resourceList },
  async handle({ context, query, backend, url, signal }) {
    const { status, sort = '', name_prefix: namePrefix = '', metadata } = query;
    const isByName = namePrefix !== '' && metadata === undefined;
    const { totalSize, ...page } = await backend.listResources(
      {
        context: context(),
        status: status ? resourceStatuses.toValue(status) : ResourceStatus.UNSPECIFIED,
        namePrefix,
        metadataJson: metadata ? JSON.stringify(metadata) : '',
        pageSize: pageSizeOf(query),
        pageToken: query.cursor ?? '',
        orderBy: isByName && sort !== '-name' ? 'name' : sort,
      },
      { context: context(), signal: signal() },
    );
    const items = page.resources.map((resource) => resourceJson(resource));
    const isCounted = namePrefix === '' && metadata === undefined;
    return listResponse(items, { ...page, ...(isCounted ? { totalSize } : {}) }, url(), query);
  },
});

const updateResource = defineEndpoint({
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
  async handle({ context, id, body, expectedVersions, backend }) {
    checkId('res', id);
    const { name, status, metadata } = body;
    const resource = await backend.updateResource({
      context: context(),
      id,
      expectedVersions,
      ...(name === undefined ? {} : { name }),
      ...(status === undefined ? {} : { status: resourceStatuses.toValue(status) }),
      ...(metadata === undefined ? {} : { metadataJson: JSON.stringify(metadata) }),
    });
    return oneResponse(200, oneResourceOf(resource));
  },
});

const deleteResource = defineEndpoint({
  method: 'delete',
  path: '/v1/resources/{id}',
  operationId: 'deleteResource',
  summary: 'Delete a resource',
  description: 'Deletes the resource and its metadata permanently. Emits `resource.deleted`.',
  tag: 'Resources',
  permission: 'resources:write',
  conditional: true,
  success: { status: 204, description: 'The resource was deleted.' },
  async handle({ context, id, expectedVersions, backend }) {
    checkId('res', id);
    await backend.deleteResource({ context: context(), id, expectedVersions });
    return { status: 204 };
  },
});

/** Returns a resource for a response with one object. */
function oneResourceOf(resource: Resource, withInputType = false): OneObject {
  return { json: resourceJson(resource, withInputType), version: resource.version };
}

/**
 * Returns the API representation of a resource. Its metadata is already JSON and is inserted unchanged.
 * @param withInputType adds `input_type`, which only pages show
 */
function resourceJson(resource: Resource, withInputType = false): string {
  const { id, status, name, metadataJson, inputType, createTime, updateTime } = resource;
  const more = withInputType ? `,"input_type":${JSON.stringify(inputTypes.toName(inputType) ?? null)}` : '';
  return (
    `{"id":"${id}","type":"resource","status":"${resourceStatuses.toName(status) ?? 'active'}",` +
    `"name":${JSON.stringify(name)},"metadata":${metadataJson || '{}'},` +
    `"created_at":"${presentTimeOf(createTime)}","updated_at":"${presentTimeOf(updateTime)}"${more}}`
  );
}

export const resourceEndpoints = [createResource, getResource, listResources, updateResource, deleteResource];
