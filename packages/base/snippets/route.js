// app/webhooks/route.js
import { verifySignature } from './verify.mjs';

export async function POST(request) {
  const secrets = process.env.WEBHOOK_SECRETS.split(' ');
  const body = Buffer.from(await request.arrayBuffer());
  if (!verifySignature(Object.fromEntries(request.headers), body, secrets)) return new Response(null, { status: 401 });
  const event = JSON.parse(body.toString());
  console.log(event.id, event.type); // store the event here
  return new Response(null, { status: 200 });
}
