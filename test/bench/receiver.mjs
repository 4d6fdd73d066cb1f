// A webhook receiver in a process of its own: answers 200 at once, and reports arrivals to its parent in batches, but for
// those at paths that hang, drip, or belong to a baseline.
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

/** A byte a second. */
function drip(response) {
  response.writeHead(200, { 'content-length': '1000' });
  const timer = setInterval(() => response.write('.'), 1_000);
  response.on('close', () => clearInterval(timer));
}

server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
setInterval(() => {
  if (arrivals.length === 0) return;
  process.send({ arrivals });
  arrivals = [];
}, 20);
process.on('disconnect', () => process.exit(0));
