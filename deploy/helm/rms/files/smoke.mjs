// Runs in `helm test`, against the sandbox: creates a key, creates a resource with it, reads the resource, waits for
// its event in the feed (after it has passed through Kafka), deletes the resource and revokes the key. Logs each step;
// exits with 1 on any unexpected result.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';

const { SANDBOX_URL, WORKSPACE } = process.env;
const eventWithinMs = 30_000;
const workspace = WORKSPACE ? ['--workspace', WORKSPACE] : [];

if (!WORKSPACE) rms('workspaces', 'create', '--name', 'default', '--if-none');
const key = rms(
  ...['keys', 'create', '--environment', 'test', '--scope', 'admin', '--name', 'helm test', '--expires-in', '1h'],
  ...workspace,
);
try {
  const { newest_sequence: before } = (await call('GET', '/v1/events', 200)).meta;
  const name = `helm test ${randomUUID()}`;
  const { id } = (await call('POST', '/v1/resources', 201, { name })).data;
  console.log(`created ${id}`);
  try {
    const { data } = await call('GET', `/v1/resources/${id}`, 200);
    if (data.name !== name) throw new Error(`GET returned the name "${data.name}" instead of "${name}"`);
    console.log(`read ${id}`);
    const event = await eventOf(id, before);
    console.log(`event ${event.id} (${event.type}) is in the feed`);
  } finally {
    await call('DELETE', `/v1/resources/${id}`, 204);
    console.log(`deleted ${id}`);
  }
} finally {
  rms('keys', 'revoke', key.id, ...workspace);
  console.log(`revoked ${key.id}`);
}

/** Returns a single result's document, or a list as { data }. */
function rms(...args) {
  const document = JSON.parse(
    execFileSync('rms', [...args, '--json'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  return Array.isArray(document.data) ? document : document.data;
}

async function call(method, path, expected, body) {
  const response = await fetch(`${SANDBOX_URL}${path}`, {
    method,
    headers: { Authorization: `Bearer ${key.key}`, ...(body ? { 'Content-Type': 'application/json' } : {}) },
    body: body ? JSON.stringify(body) : undefined,
    signal: AbortSignal.timeout(10_000),
  });
  const text = await response.text();
  if (response.status === expected) return text === '' ? undefined : JSON.parse(text);
  const requestId = response.headers.get('x-request-id');
  throw new Error(`${method} ${path} returned ${response.status} (X-Request-ID ${requestId}): ${text}`);
}

async function eventOf(resourceId, after) {
  const giveUpAtMs = Date.now() + eventWithinMs;
  for (let sequence = after; ; ) {
    const { data } = await call('GET', `/v1/events?after=${sequence}&per_page=100`, 200);
    const found = data.find((event) => event.data?.object?.id === resourceId);
    if (found) return found;
    if (Date.now() > giveUpAtMs) throw new Error(`no event for ${resourceId} within ${eventWithinMs / 1_000} s`);
    if (data.length > 0) sequence = data.at(-1).sequence;
    else await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
