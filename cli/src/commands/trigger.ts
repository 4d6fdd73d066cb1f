import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { print, table } from '../print.ts';
import { callApi } from '../with-key/api.ts';
import { addTargetOptions, requireTarget } from '../with-key/operations.ts';

const name = 'Sample of rms trigger';

export function define(trigger: Command): void {
  addTargetOptions(trigger);
  trigger.action(async (options: { json?: boolean }, command: Command) => {
    const target = requireTarget(command);
    const steps: { request: string; causes: string[]; id: string }[] = [];
    const change = async (method: string, path: string, causes: string[], body?: object) => {
      const document = await callApi<{ data: { id: string } } | undefined>(target, {
        method,
        path,
        ...(body ? { body } : {}),
        headers: method === 'post' ? { 'idempotency-key': randomUUID() } : {},
      });
      const id = document?.data.id ?? steps[0]?.id ?? '';
      steps.push({ request: `${method.toUpperCase()} ${path}`, causes, id });
      return id;
    };
    const id = await change('post', '/v1/resources', ['resource.created'], { name });
    const path = `/v1/resources/${id}`;
    await change('patch', path, ['resource.updated', 'resource.status_changed'], {
      name: `${name}, changed`,
      status: 'inactive',
    });
    await change('delete', path, ['resource.deleted']);
    print(options, { data: steps }, () =>
      table(
        ['REQUEST', 'EVENTS'],
        steps.map(({ request, causes }) => [request, causes.join(', ')]),
      ),
    );
  });
}
