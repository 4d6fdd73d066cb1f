import { startStandalone } from '@rms/testkit';
import { openSettings } from '../distributed.mjs';

// Default settings, except for the limits and receivers on loopback.
const { LOG_LEVEL: _, ...settings } = openSettings;

/** Starts `npm start`, with one workspace. */
export async function startRms() {
  const shape = await startStandalone({ env: settings });
  const { key } = await shape.rms('keys', 'create', '--environment', 'live', '--scope', 'admin', '--name', 'bench');
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const send = async (path, body) => {
    const response = await fetch(`${shape.liveUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (response.status !== 201) throw new Error(`rms: ${path} returned ${response.status}: ${await response.text()}`);
  };
  return {
    url: shape.liveUrl,
    pids: () => ({ tree: shape.pid }),
    expect: 201,
    addEndpoint: (url, { retryAfterSeconds = 0 } = {}) =>
      send('/v1/webhooks', {
        url,
        events: ['resource.created'],
        ...(retryAfterSeconds && { retry_policy: { delays: Array(20).fill(retryAfterSeconds) } }),
      }),
    publish: (id) => ({ method: 'POST', path: '/v1/resources', headers, body: resource(id) }),
    /** Events carry the ID that the response shows. */
    idOf: (_, response) => JSON.parse(response).data.id,
    kill: shape.kill,
    restart: shape.restart,
    stop: () => shape.stop(),
  };
}

function resource(id) {
  return JSON.stringify({ name: `Resource ${id}`, metadata: { publisher: 'bench', note: 'x'.repeat(120) } });
}

export const settingsOfRms = { ...settings };
