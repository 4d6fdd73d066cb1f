import { request } from 'node:http';
import { type Receiver, startReceiver, waitUntil } from '@rms/testkit';
import { Webhook } from 'standardwebhooks';
import type { RmsScene } from '../support/rms-scene.ts';

/** Commands that run until they are interrupted. */
export function rmsFollowingSuite(scene: RmsScene): void {
  const { run, one, fromApi, start } = scene;

  test('requests --follow prints every request once, slow ones and those around an outage too', async () => {
    interface Logged {
      readonly request_id: string;
      readonly method: string;
      readonly status: number;
    }
    const following = start(['requests', '--follow', '--json', '--method', 'POST']);
    const text = start(['requests', 'list', '--follow', '--route', '/v1/resources']);
    const printed = () => {
      const lines = following
        .output()
        .split('\n')
        .slice(0, -1)
        .filter((line) => line.startsWith('{'));
      // The following begins with a whole second, which may contain requests of other tests.
      return lines.map((line) => JSON.parse(line) as Logged).filter(({ request_id: id }) => id.startsWith('follow-'));
    };
    const post = async (requestId: string) => {
      const response = await fetch(`${scene.service.sandboxUrl}/v1/resources`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${scene.key}`,
          'content-type': 'application/json',
          'x-request-id': requestId,
        },
        body: '{"name":"Followed"}',
      });
      expect(response.status).toBe(201);
    };
    try {
      await waitUntil(() => following.output().includes('rms: following sandbox requests of http'), {
        what: 'the note',
      });
      await waitUntil(() => text.output().includes('rms: following'), { what: 'the other note' });
      // Starts first and ends last.
      const slow = request(`${scene.service.sandboxUrl}/v1/resources`, {
        method: 'POST',
        agent: false,
        headers: {
          ...{ authorization: `Bearer ${scene.key}`, 'content-type': 'application/json' },
          ...{ 'x-request-id': 'follow-slow', 'content-length': 15 },
        },
      });
      slow.on('response', (response) => response.resume());
      slow.write('{"name":');
      await post('follow-1');
      await run(['resources', 'list']);
      await waitUntil(() => printed().length === 1, { what: 'the first request' });
      slow.end('"Slow"}');
      await waitUntil(() => printed().length === 2, { what: 'the slow request' });
      expect(printed().map(({ request_id: id, method, status }) => `${method} ${id} ${status}`)).toEqual([
        'POST follow-1 201',
        'POST follow-slow 201',
      ]);
      await waitUntil(() => text.output().includes(' follow-slow '), { what: 'the line' });
      expect(text.output()).toMatch(/\n20\S+Z {2}follow-1 {2}POST {2}\/v1\/resources {2}201 {2}- {2}[\d.]+ {2}key_/);
      await scene.service.kill();
      await waitUntil(() => following.output().includes('Retrying; the next request is after 20'), {
        what: 'the note',
      });
      await scene.service.restart();
      await post('follow-2');
      await post('follow-2');
      await waitUntil(() => printed().length >= 4, { what: 'the later requests' });
      // Every tenth poll reads again what earlier ones have read.
      const ownPolls = async () => {
        const { data } = (await fromApi('/v1/requests?method=GET&route=/v1/requests&per_page=100')) as {
          data: Logged[];
        };
        const counts = Object.values(Object.groupBy(data, ({ request_id: id }) => id));
        return counts.filter((polls = []) => polls.length > 24).length;
      };
      // Less frequent than the polls, so that the newest requests are not this test's.
      await waitUntil(async () => (await ownPolls()) >= 2, { what: 'another sweep of both', everyMs: 2_000 });
      expect(printed().map(({ request_id: id }) => id)).toEqual(['follow-1', 'follow-slow', 'follow-2', 'follow-2']);
    } finally {
      expect(await following.interrupt()).toBe(0);
      expect(await text.interrupt()).toBe(0);
    }
  });

  test('listen forwards signed events of the environment of the key, and none is lost while the API is away', async () => {
    const receiver: Receiver = await startReceiver({ path: '' });
    const listening = start(['listen', '--forward-to', receiver.url]);
    try {
      await waitUntil(() => listening.output().includes('Signing secret: '), { what: 'rms listen to start' });
      expect(listening.output()).toMatch(/^Forwarding sandbox events of http/);
      await one('trigger');
      await waitUntil(() => receiver.requests.length === 4, { what: 'the first events' });
      await scene.service.kill();
      await waitUntil(() => listening.output().includes('Retrying; the next event is after'), { what: 'the note' });
      await scene.service.restart();
      await one('trigger');
      await waitUntil(() => receiver.requests.length === 8, { what: 'the later events' });
      const secret = /Signing secret: (\S+)/.exec(listening.output())?.[1] ?? '';
      const events = receiver.requests.map(({ body, headers }) => {
        return new Webhook(secret).verify(body, headers as Record<string, string>) as { id: string };
      });
      expect(new Set(events.map(({ id }) => id)).size).toBe(8);
    } finally {
      expect(await listening.interrupt()).toBe(0);
      await receiver.close();
    }
  });
}
