import Express from '@rms/base/signature/snippets/express.mjs?raw';
import FastAPI from '@rms/base/signature/snippets/fastapi_app.py?raw';
import Flask from '@rms/base/signature/snippets/flask_app.py?raw';
import netHttp from '@rms/base/signature/snippets/main.go?raw';
import Next from '@rms/base/signature/snippets/route.js?raw';
import curl from '@rms/base/signature/snippets/send.sh?raw';
import Go from '@rms/base/signature/snippets/verify.go?raw';
import Node from '@rms/base/signature/snippets/verify.mjs?raw';
import Python from '@rms/base/signature/snippets/verify.py?raw';
import Spring from '@rms/base/signature/snippets/WebhookController.java?raw';
import Java from '@rms/base/signature/snippets/WebhookSignature.java?raw';

/** Code samples for the signatures of deliveries: verification by language, with receivers that call it. */
export const verificationCode = [
  { language: 'curl', samples: { 'Signed test request with curl': curl } },
  {
    language: 'Node',
    samples: { 'Verification in Node': Node, 'Receiver in Express': Express, 'Receiver in Next.js': Next },
  },
  {
    language: 'Python',
    samples: { 'Verification in Python': Python, 'Receiver in FastAPI': FastAPI, 'Receiver in Flask': Flask },
  },
  { language: 'Go', samples: { 'Verification in Go': Go, 'Receiver in net/http': netHttp } },
  { language: 'Java', samples: { 'Verification in Java': Java, 'Receiver in Spring Boot': Spring } },
] as const;
