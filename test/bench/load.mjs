import { Pool } from 'undici';

/**
 * Sends `count` requests over `connections` connections; each connection sends its next request after the response.
 * Throws on a response with an unexpected status, because a benchmark of errors measures nothing.
 */
export async function load({ url, connections = 32, count, request, expect: expected }) {
  const pool = new Pool(url, { connections, pipelining: 1 });
  const latenciesMs = [];
  const bodies = [];
  let next = 0;
  const client = async () => {
    for (let i = next++; i < count; i = next++) {
      const startedAtMs = performance.now();
      const { statusCode, body } = await pool.request(request(i));
      const text = await body.text();
      latenciesMs.push(performance.now() - startedAtMs);
      if (![expected].flat().includes(statusCode)) throw new Error(`request ${i} returned ${statusCode}: ${text}`);
      bodies.push(text);
    }
  };
  await Promise.all(Array.from({ length: connections }, client));
  await pool.close();
  return { latenciesMs, bodies };
}
