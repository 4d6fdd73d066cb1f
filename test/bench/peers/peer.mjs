import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Makes a folder for a peer's data. */
export function temporaryFolder(name) {
  const path = mkdtempSync(join(tmpdir(), `rms-bench-${name}-`));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Sends JSON, and returns the JSON of a response with a 2xx status. */
export async function postTo(url, headers, body, method = 'POST') {
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url} returned ${response.status}: ${text}`);
  return JSON.parse(text);
}

/** Returns an event of the size and shape that rms sends. */
export function eventOf(id) {
  const at = new Date().toISOString();
  const metadata = { publisher: 'bench', note: 'x'.repeat(120) };
  const object = {
    id,
    type: 'resource',
    name: `Resource ${id}`,
    status: 'active',
    version: 1,
    metadata,
    created_at: at,
  };
  return { type: 'resource.created', created_at: at, data: { object } };
}

/** Stops a server and its stores, the latest first, and removes their folder. */
export async function stopAll(running, folder) {
  for (const one of running) await one.stop();
  folder.remove();
}
