// A webhook receiver in a process of its own: answers 200 at once, and reports arrivals to its parent in batches; what the
// baseline sends is not reported.
import { createServer } from 'node:http';

let arrivals = [];
const server = createServer((request, response) => {
  const atMs = performance.timeOrigin + performance.now();
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    response.end();
    if (request.url === '/baseline') return;
    arrivals.push({ id: JSON.parse(Buffer.concat(chunks).toString()).data.object.id, atMs });
  });
});
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
setInterval(() => {
  if (arrivals.length === 0) return;
  process.send({ arrivals });
  arrivals = [];
}, 20);
process.on('disconnect', () => process.exit(0));
