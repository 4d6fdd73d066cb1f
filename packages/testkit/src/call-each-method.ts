import type { DescService } from '@bufbuild/protobuf';
import { type CallOptions, createClient } from '@rms/rpc';

/** Contexts of the kinds of callers. */
export const callerKinds = {
  service: {},
  operator: { actor: 'operator:test' },
  user: { actor: 'user:usr_1' },
  key: { principal: { workspaceId: 'ws_1', keyId: 'key_1' } },
} as const satisfies Record<string, CallOptions['context']>;

/** Long enough for a response; a stream without messages ends with `timeout`. */
const timeoutMs = 2_000;

/**
 * Calls each method of the services with an empty request, and returns the results by "package.Service/Method": "ok" or
 * the error's code.
 */
export async function callEachMethod(
  address: string,
  services: readonly DescService[],
  context: CallOptions['context'],
): Promise<Record<string, string>> {
  const results: Record<string, string> = {};
  for (const service of services) {
    const client = createClient(service, { target: address, timeoutMs });
    const methods = client as unknown as Record<string, (request: object, call: CallOptions) => unknown>;
    await Promise.all(
      service.methods.map(async (method) => {
        const path = `${service.typeName}/${method.name}`;
        try {
          const response = methods[method.localName]?.({}, { context });
          if (method.methodKind === 'server_streaming') {
            for await (const _message of response as AsyncIterable<unknown>) break;
          }
          await response;
          results[path] = 'ok';
        } catch (error) {
          results[path] = (error as { code: string }).code;
        }
      }),
    );
    client.close();
  }
  return results;
}
