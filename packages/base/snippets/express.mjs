import express from 'express';
import { verifySignature } from './verify.mjs';

const secrets = process.env.WEBHOOK_SECRETS.split(' ');
const app = express();

// express.raw keeps the bytes of the body. A middleware that parses JSON must not come before it.
app.post('/webhooks', express.raw({ type: 'application/json', limit: '1mb' }), (request, response) => {
  if (!verifySignature(request.headers, request.body ?? '', secrets)) return response.sendStatus(401);
  const event = JSON.parse(request.body);
  console.log(event.id, event.type); // store the event here
  response.sendStatus(200);
});

app.listen(process.env.PORT);
