// A webhook receiver in a separate process. It responds with 200 immediately and reports arrivals to its parent in
// batches. Exceptions: /hang never responds, /drip responds slowly, and /baseline is not reported.
import { createServer } from 'node:http';

let arrivals = [];
const server = createServer((request, response) => {
  const atMs = performance.timeOrigin + performance.now();
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    if (request.url === '/hang') return;
    if (request.url === '/drip') return drip(response);
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
process.on('disconnect', () => process.exit(0));
