import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { isExpected, RmsError } from '@rms/base/errors';
import { newId } from '@rms/base/ids';
import { type Resource, ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import { type CreateResourceRequest, ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import { rpcService, toStatusMessage } from '@rms/rpc';

const outdated = { result: { case: 'error' as const, value: toStatusMessage(new RmsError('precondition_failed')) } };

type Stored = Omit<Resource, '$typeName' | '$unknown'>;

/** An in-memory resources service. */
export class FakeResources {
  readonly stored = new Map<string, Stored>();
  readonly created: CreateResourceRequest[] = [];
  batches = 0;
  /** Awaited by every call. If it rejects, the call fails. */
  before: (signal: AbortSignal) => Promise<void> = async () => {};
  /** Error of every batch item, if set. */
  itemError: RmsError | undefined;

  readonly service = rpcService(ResourcesService, {
    batchCreateResources: async ({ requests }, { signal }) => {
      await this.#enter(signal);
      this.created.push(...requests);
      return {
        results: requests.map((request) => {
          if (this.itemError) return { result: { case: 'error' as const, value: toStatusMessage(this.itemError) } };
          const { name, metadataJson, inputType, idempotencyKey } = request;
          const now = timestampFromDate(new Date());
          const value: Stored = {
            id: newId('res'),
            name,
            metadataJson: metadataJson || '{}',
            inputType,
            status: ResourceStatus.ACTIVE,
            createTime: now,
            updateTime: now,
            version: 1n,
          };
          this.stored.set(value.id, value);
          return { result: { case: 'resource' as const, value }, replayed: idempotencyKey === 'replayed' };
        }),
      };
    },
    batchGetResources: async ({ requests }, { signal }) => {
      await this.#enter(signal);
      return { results: requests.map(({ id }) => this.#result(id)) };
    },
    batchUpdateResources: async ({ requests }, { signal }) => {
      await this.#enter(signal);
      return {
        results: requests.map(({ id, name, status, metadataJson, expectedVersions }) => {
          const stored = this.stored.get(id);
          if (stored) {
            if (!isExpected(Number(stored.version), expectedVersions)) return outdated;
            const version = stored.version + (name || status || metadataJson ? 1n : 0n);
            const update = { ...stored, ...(name ? { name } : {}), ...(status ? { status } : {}), version };
            this.stored.set(id, metadataJson ? { ...update, metadataJson } : update);
          }
          return this.#result(id);
        }),
      };
    },
    batchDeleteResources: async ({ requests }, { signal }) => {
      await this.#enter(signal);
      return {
        results: requests.map(({ id, expectedVersions }) => {
          const stored = this.stored.get(id);
          if (stored && !isExpected(Number(stored.version), expectedVersions)) return { error: outdated.result.value };
          return this.stored.delete(id) ? {} : { error: toStatusMessage(new RmsError('not_found')) };
        }),
      };
    },
    listResources: async ({ pageSize, pageToken }, { signal }) => {
      await this.#enter(signal);
      const resources = [...this.stored.values()].slice(0, pageSize);
      const more = resources.length < this.stored.size;
      const page = pageToken === '' ? 1 : 2;
      return {
        resources,
        totalSize: BigInt(this.stored.size),
        page,
        pageSize,
        nextPageToken: more ? 'to-next' : '',
        previousPageToken: page > 1 ? 'to-previous' : '',
      };
    },
  });

  async #enter(signal: AbortSignal): Promise<void> {
    this.batches += 1;
    await this.before(signal);
  }

  #result(id: string) {
    const value = this.stored.get(id);
    if (value) return { result: { case: 'resource' as const, value } };
    return { result: { case: 'error' as const, value: toStatusMessage(this.itemError ?? new RmsError('not_found')) } };
  }
}
