// A webhook receiver in a separate process. It responds with 200 immediately and reports arrivals to its parent in
// batches. Exceptions: /hang never responds, /drip responds slowly, /late after ten seconds, /failing with 503 until the
// parent says otherwise; /baseline and /late are not reported.
import { createServer } from 'node:http';

const lateMs = 10_000;
let arrivals = [];
let isFailing = true;
const server = createServer((request, response) => {
  const atMs = performance.timeOrigin + performance.now();
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    if (request.url === '/hang') return;
    if (request.url === '/drip') return drip(response);
    if (request.url === '/late') return setTimeout(() => response.end(), lateMs);
    if (request.url === '/failing' && isFailing) return response.writeHead(503).end();
    response.end();
    if (request.url === '/baseline') return;
    arrivals.push({ id: JSON.parse(Buffer.concat(chunks).toString()).data.object.id, atMs });
  });
});

/** Sends one byte per second. */
function drip(response) {
  response.writeHead(200, { 'content-length': '1000' });
  const timer = setInterval(() => response.write('.'), 1_000);
  response.on('close', () => clearInterval(timer));
}

server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  process.send({ port });
});
setInterval(() => {
  if (arrivals.length === 0) return;
  process.send({ arrivals });
  arrivals = [];
}, 20);
process.on('message', (/** @type {{ isFailing: boolean }} */ message) => {
  isFailing = message.isFailing;
});
process.on('disconnect', () => process.exit(0));
