import { callApi, disposable, startReceiver, waitUntil } from '@rms/testkit';
import type { RmsScene } from '../support/rms-scene.ts';

interface Resource {
  readonly id: string;
  readonly name: string;
  readonly metadata: object;
}

/** Commands for the objects of the API. */
export function rmsObjectsSuite(scene: RmsScene): void {
  const { run, json, one, fromApi } = scene;

  test('a resource is created, shown, changed and deleted, with the documents of the API', async () => {
    const created = await one<Resource>('resources', 'create', '--name', 'Über', '--metadata', '{"team":"blue"}');
    expect(created).toMatchObject({ name: 'Über', metadata: { team: 'blue' } });
    const shown = await json<{ data: Resource }>('resources', 'show', created.id);
    expect(shown).toEqual(await fromApi(`/v1/resources/${created.id}`));
    const changed = await one<Resource>(
      'resources',
      'update',
      created.id,
      '--data',
      '{"status":"archived","name":"A"}',
    );
    expect(changed).toMatchObject({ name: 'A', status: 'archived' });
    const listed = await run(['resources', 'list', '--status', 'archived']);
    expect(listed.stdout).toMatch(new RegExp(`^ID +NAME +STATUS .*\\n${created.id} +A +archived`));
    expect((await run(['resources', 'delete', created.id])).stdout).toBe(`${created.id}: done\n`);
    expect(await run(['resources', 'show', created.id])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^rms: There is no resource .*\(404 not_found, request req_\w+\)\n$/),
    });
  });

  test('a list continues over the pages of the API up to --limit', async () => {
    const create = (i: number) =>
      callApi('POST', `${scene.service.sandboxUrl}/v1/resources`, scene.key, { name: `Page ${i}`, type: 'advanced' });
    await Promise.all(Array.from({ length: 103 }, (_, i) => create(i)));
    const { data } = await json<{ data: Resource[] }>('resources', 'list', '--sort', 'name', '--limit', '1000');
    const pages = data.filter(({ name }) => name.startsWith('Page '));
    expect(new Set(pages.map(({ id }) => id)).size).toBe(103);
    const cut = await run(['resources', 'list', '--limit', '101']);
    expect(cut.stdout.split('\n')).toHaveLength(103);
    expect(cut.stderr).toBe('rms: showing the first 101; --limit shows more\n');
  });

  test('a webhook is created, tested, and its deliveries are shown and sent again', async () => {
    await using receiver = disposable(await startReceiver({ path: '' }));
    const webhook = await one<{ id: string; secret: string }>(
      ...['webhooks', 'create', '--url', receiver.url, '--events', 'resource.created', '--ordered'],
    );
    expect(webhook).toMatchObject({ ordered: true, events: ['resource.created'] });
    await one('webhooks', 'test', webhook.id);
    await one('resources', 'create', '--name', 'Delivered');
    const delivered = () =>
      json<{ data: { id: string; status: string; test: boolean }[] }>(
        ...['deliveries', 'list', '--webhook-id', webhook.id, '--created-after', '1h', '--test', 'false'],
      );
    await waitUntil(async () => (await delivered()).data[0]?.status === 'delivered', { what: 'the delivery' });
    const [delivery] = (await delivered()).data;
    expect((await delivered()).data).toHaveLength(1);
    const again = receiver.requests.length + 1;
    await one('deliveries', 'redeliver', delivery?.id ?? '');
    await waitUntil(() => receiver.requests.length === again, { what: 'the delivery again' });
    expect(await one('deliveries', 'show', delivery?.id ?? '')).toMatchObject({ id: delivery?.id });
    expect(await one('webhooks', 'update', webhook.id, '--status', 'disabled')).toMatchObject({ status: 'disabled' });

    expect(await one('webhooks', 'update', webhook.id, '--status', 'active')).toMatchObject({ status: 'active' });
    receiver.respondWith(500);
    const tested = await run(['webhooks', 'test', webhook.id, '--json']);
    expect([tested.code, tested.stderr]).toEqual([1, 'rms: The endpoint did not accept the event: status: 500.\n']);
    expect(JSON.parse(tested.stdout)).toMatchObject({ data: { response: { status: 500 } } });
    expect((await run(['deliveries', 'list', '--webhook-id', webhook.id])).stdout).toMatch(/ATTEMPT STATUS\n.* 500\n/);

    expect(await run(['webhooks', 'delete', webhook.id])).toMatchObject({
      code: 0,
      stderr:
        `rms: This deletes ${webhook.id} (${receiver.url}/). Failing now: no pending deliveries (webhook_deleted). ` +
        'They cannot be redelivered.\n',
    });
  });

  test('trigger causes an event of every type; events, requests, trace, audit, keys and workspace show them', async () => {
    const steps = await one<{ causes: string[] }[]>('trigger');
    const types = steps.flatMap(({ causes }) => causes).sort();
    await waitUntil(
      async () => {
        const { data } = await json<{ data: { type: string }[] }>('events', 'list', '--limit', '1000');
        return types.every((type) => data.slice(-4).some((event) => event.type === type));
      },
      { what: 'the events' },
    );
    expect(types).toEqual(['resource.created', 'resource.deleted', 'resource.status_changed', 'resource.updated']);
    const deletion = await waitUntil(
      async () => {
        const { data } = await json<{ data: { request_id: string; status: number }[] }>(
          ...['requests', 'list', '--method', 'DELETE', '--route', '/v1/resources/{id}', '--limit', '1'],
        );
        return data[0];
      },
      { what: 'the request' },
    );
    expect(deletion).toMatchObject({ status: 204 });
    const trace = await run(['trace', deletion.request_id]);
    // In no order: the time of the event is the clock of PostgreSQL.
    for (const part of [/^request +req_/, /DELETE \/v1\/resources\/\{id\} in sandbox/, /resource\.deleted/])
      expect(trace.stdout).toMatch(part);
    const count = { count: expect.any(Number), limit: 1_000 };
    expect(await one('workspace')).toMatchObject({
      environment: 'sandbox',
      plan: null,
      objects: { keys: count, webhooks: count },
    });
    expect((await run(['workspace'])).stdout).toMatch(/^plan +\n[\s\S]*^objects\.keys\.count +[1-9]\d*\n/m);
    const { data: keys } = await json<{ data: object[] }>('keys', 'list');
    expect(keys).toContainEqual(expect.objectContaining({ name: 'admin', scope: 'admin' }));
    const { data: entries } = await json<{ data: object[] }>('audit', '--action', 'key.created');
    expect(entries).toContainEqual(expect.objectContaining({ action: 'key.created' }));
  });

  test('alerts shows, acknowledges and mutes incidents, and manages rules and channels', async () => {
    const receiver = await startReceiver({ path: '' });
    receiver.respondWith(500);
    try {
      const kind = 'delivery_failures_in_a_row';
      const rule = await one('alerts', 'rules', 'update', kind, '--threshold', '1');
      expect(rule).toMatchObject({ kind, threshold: 1 });
      const { data: rules } = await json<{ data: { kind: string }[] }>('alerts', 'rules');
      expect(rules).toContainEqual(expect.objectContaining({ kind, threshold: 1 }));
      const channel = await one<{ id: string; secret: string }>(
        ...['alerts', 'channels', 'create', '--type', 'webhook', '--name', 'Bot', '--url', receiver.url],
      );
      expect(channel.secret).toMatch(/^whsec_/);
      expect((await run(['alerts', 'channels'])).stdout).toMatch(new RegExp(`${channel.id} +webhook +Bot`));
      expect(await run(['alerts', 'channels', 'test', channel.id])).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^rms: The channel did not accept the message: .*500/),
      });
      expect((await run(['alerts', 'channels', 'delete', channel.id])).code).toBe(0);

      const webhook = await one<{ id: string }>('webhooks', 'create', '--url', receiver.url, '--events', '*');
      await one('resources', 'create', '--name', 'Failing');
      const open = await waitUntil(
        async () => {
          const list = ['alerts', 'list', '--subject-id', webhook.id, '--status', 'open'];
          return (await json<{ data: { id: string }[] }>(...list)).data[0];
        },
        { what: 'the incident' },
      );
      expect(await one('alerts', 'show', open.id)).toMatchObject({ kind, subject: { id: webhook.id } });
      const acknowledged = await one('alerts', 'acknowledge', open.id);
      expect(acknowledged).toMatchObject({ acknowledged_by: expect.stringMatching(/^key:key_/) });
      const muted = await one<{ muted_until: string }>('alerts', 'mute', open.id, '--until', '24h');
      expect(Math.abs(Date.parse(muted.muted_until) - Date.now() - 86_400_000)).toBeLessThan(600_000);
      expect(await one('alerts', 'mute', open.id, '--until', 'null')).toMatchObject({ muted_until: null });
      expect((await run(['webhooks', 'delete', webhook.id])).code).toBe(0);
    } finally {
      await receiver.close();
    }
  });
}
