// Runs in a pod, from a ConfigMap, on the service's image; uses only Node. Webhooks call it on port 9000, and
// traces are sent to it on port 4318:
// - /sinks/NAME: counts the request and verifies its signature; handles thousands of deliveries.
// - /PORT/PATH: holds the request until a receiver on that port of the test machine has responded.
//
// The tests call it on port 9001, which only the pod itself and a port forward can reach:
// - PUT /sinks/NAME {secret}: creates a sink. GET /sinks/NAME: returns its counts.
// - GET /next: returns a held request, or 204 after some seconds.
// - POST /answers/ID {status, headers, body}: responds to a held request.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const longPollMs = 10_000;
const sinks = new Map();
/** Held requests that no `GET /next` has fetched, and `GET /next` calls that wait for a request. */
const waiting = [];
const takers = [];
/** Pending responses, by request id. */
const owed = new Map();
let lastId = 0;

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function receive(request, response) {
  request.on('error', () => {});
  const body = await bodyOf(request).catch(() => undefined);
  if (body === undefined) return;
  const [, first, ...rest] = request.url.split('/');
  if (first === 'sinks') return void response.writeHead(count(rest[0], request.headers, body)).end();
  if (!/^\d+$/.test(first)) return void response.writeHead(404).end();
  const id = String(++lastId);
  owed.set(id, response);
  response.on('close', () => owed.delete(id));
  const path = `/${rest.join('/')}`;
  hand({
    id,
    port: Number(first),
    method: request.method,
    path,
    headers: request.headers,
    body: body.toString('base64'),
  });
}
for (const port of [9000, 4318]) createServer(receive).listen(port);

/** Counts the request. Returns the status to respond with: 200 if it was counted. */
function count(name, headers, body) {
  const sink = sinks.get(name);
  if (!sink) return 404;
  const expected = createHmac('sha256', sink.secret).update(body).digest();
  const given = Buffer.from(String(headers['x-service-signature'] ?? ''), 'hex');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    sink.wrongSignatures += 1;
    return 400;
  }
  const { id } = JSON.parse(body.toString('utf8')).data.object;
  sink.arrivals.set(id, (sink.arrivals.get(id) ?? 0) + 1);
  return 200;
}

function hand(request) {
  const taker = takers.shift();
  if (taker) taker(request);
  else waiting.push(request);
}

createServer(async (request, response) => {
  request.on('error', () => {});
  const json = (status, value) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(value && JSON.stringify(value));
  const body = await bodyOf(request);
  const [, first, name] = request.url.split('/');
  if (first === 'sinks' && request.method === 'PUT') {
    sinks.set(name, { ...JSON.parse(body.toString()), arrivals: new Map(), wrongSignatures: 0 });
    return void json(204);
  }
  if (first === 'sinks') {
    const sink = sinks.get(name);
    return void (sink ? json(200, { ...sink, secret: '', arrivals: [...sink.arrivals] }) : json(404));
  }
  if (first === 'next') return take(response, json);
  if (first === 'answers') {
    const { status, headers, body: text } = JSON.parse(body.toString());
    owed.get(name)?.writeHead(status, headers).end(Buffer.from(text, 'base64'));
    owed.delete(name);
    return void json(204);
  }
  json(first === 'livez' ? 200 : 404);
}).listen(9001, '127.0.0.1');

function take(response, json) {
  const request = waiting.shift();
  if (request) return void json(200, request);
  const leave = (reply) => {
    clearTimeout(patience);
    const index = takers.indexOf(taker);
    if (index >= 0) takers.splice(index, 1);
    reply();
  };
  const taker = (found) => leave(() => (response.destroyed ? hand(found) : json(200, found)));
  const patience = setTimeout(() => leave(() => json(204)), longPollMs);
  response.on('close', () => leave(() => {}));
  takers.push(taker);
}

// Process 1 of a container receives only signals that it has a handler for.
process.on('SIGTERM', () => process.exit(0));
