import { type Receiver, startReceiver, waitUntil } from '@rms/testkit';
import { InvalidRequestError, Rms } from '../src/index.ts';

let receiver: Receiver;
let rms: Rms;
beforeEach(async () => {
  receiver = await startReceiver({ path: '' });
  rms = new Rms({ url: `${receiver.url}/prefix`, apiKey: 'sk_test_secret' });
});
afterEach(() => receiver.close());

/** Responds with pages by their cursor, each with the next one's cursor. The links have another host. */
function servePages(pages: Readonly<Record<string, readonly [items: readonly string[], next: string | null]>>): void {
  receiver.respondWith(({ path }, response) => {
    const { searchParams } = new URL(path, receiver.url);
    const cursor = searchParams.get('cursor') ?? '';
    const [items, next] = pages[cursor] ?? [[], null];
    const link = (to: string | null) => {
      if (to === null) return null;
      searchParams.set('cursor', to);
      return `https://elsewhere.example/v1/resources?${searchParams}`;
    };
    const links = { next: link(next), prev: link(cursor ? '' : null) };
    response.end(JSON.stringify({ data: items.map((id) => ({ id })), meta: { total: 3 }, links }));
  });
}

const paths = () => receiver.requests.map(({ path }) => path);

describe('a list', () => {
  test('yields the items of all pages, also after an empty one, and sends the key only to its own address', async () => {
    servePages({ '': [['a', 'b'], 'x'], x: [[], 'y'], y: [['c'], null] });
    const ids: string[] = [];
    for await (const { id } of rms.resources.list({ status: 'active' })) ids.push(id);
    expect(ids).toEqual(['a', 'b', 'c']);
    const first = '/prefix/v1/resources?per_page=100&status=active';
    expect(paths()).toEqual([first, `${first}&cursor=x`, `${first}&cursor=y`]);
  });

  test('reads no page that is not needed', async () => {
    servePages({ '': [['a', 'b'], 'x'] });
    for await (const { id } of rms.resources.list({ per_page: 2 })) if (id === 'b') break;
    expect(paths()).toEqual(['/prefix/v1/resources?per_page=2']);
  });

  test('reads a page, its next and its previous one', async () => {
    servePages({ '': [['a'], 'x'], x: [['b'], null] });
    const page = await rms.resources.list().page();
    expect(page).toMatchObject({ data: [{ id: 'a' }], meta: { total: 3 } });
    expect(await page.previous()).toBeUndefined();
    const next = await page.next();
    expect(next?.data).toEqual([{ id: 'b' }]);
    expect(await next?.next()).toBeUndefined();
    expect((await next?.previous())?.data).toEqual([{ id: 'a' }]);
    expect(paths()).toEqual(['/prefix/v1/resources', '/prefix/v1/resources?cursor=x', '/prefix/v1/resources?cursor=']);
  });
});

describe('the feed', () => {
  let newest: number;
  beforeEach(() => {
    newest = 250;
    receiver.respondWith(({ path }, response) => {
      const { searchParams } = new URL(path, receiver.url);
      const after = Number(searchParams.get('after'));
      if (after > newest) {
        const error = { code: 'invalid_request', message: '`after` is beyond the newest event', status: 400 };
        return void response.writeHead(400).end(JSON.stringify({ error }));
      }
      const count = Math.min(Number(searchParams.get('per_page')), newest - after);
      const data = Array.from({ length: count }, (_, i) => ({ id: `evt_${after + i + 1}`, sequence: after + i + 1 }));
      const next = after + count < newest ? 'https://elsewhere.example/v1/events?after=0' : null;
      response.end(JSON.stringify({ data, meta: {}, links: { next, prev: null } }));
    });
  });

  test('yields all events after a position, and ends after the newest one', async () => {
    const sequences: number[] = [];
    for await (const { sequence } of rms.events.feed({ after: 20 })) sequences.push(sequence);
    expect(sequences).toEqual(Array.from({ length: 230 }, (_, i) => i + 21));
    expect(paths()).toEqual([20, 120, 220].map((after) => `/prefix/v1/events?after=${after}&per_page=100`));
  });

  test('resumes at the last processed event', async () => {
    let position = 0;
    for await (const { sequence } of rms.events.feed()) {
      position = sequence;
      if (position === 101) break;
    }
    const { value } = await rms.events.feed({ after: position }).next();
    expect(value).toMatchObject({ id: 'evt_102' });
  });

  test('with follow waits for new events until the signal aborts', async () => {
    const controller = new AbortController();
    const received: number[] = [];
    const follow = async () => {
      const options = { after: 249, follow: true, pollInterval: 10, signal: controller.signal };
      for await (const { sequence } of rms.events.feed(options)) received.push(sequence);
    };
    const ended = follow();
    await waitUntil(() => receiver.requests.length > 2, { what: 'requests for new events' });
    expect(received).toEqual([250]);
    newest = 252;
    await waitUntil(() => received.length === 3, { what: 'the new events' });
    expect(received).toEqual([250, 251, 252]);
    controller.abort(new Error('enough'));
    await expect(ended).rejects.toThrow('enough');
  });

  test('rejects if the position is of another feed', async () => {
    await expect(rms.events.feed({ after: 251 }).next()).rejects.toBeInstanceOf(InvalidRequestError);
  });
});
