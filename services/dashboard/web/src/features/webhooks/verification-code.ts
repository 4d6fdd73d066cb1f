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
  { language: 'curl', samples: [['request', 'curl', curl]] },
  {
    language: 'Node',
    samples: [
      ['verification', 'Node', Node],
      ['receiver', 'Express', Express],
      ['receiver', 'Next.js', Next],
    ],
  },
  {
    language: 'Python',
    samples: [
      ['verification', 'Python', Python],
      ['receiver', 'FastAPI', FastAPI],
      ['receiver', 'Flask', Flask],
    ],
  },
  {
    language: 'Go',
    samples: [
      ['verification', 'Go', Go],
      ['receiver', 'net/http', netHttp],
    ],
  },
  {
    language: 'Java',
    samples: [
      ['verification', 'Java', Java],
      ['receiver', 'Spring Boot', Spring],
    ],
  },
] as const;
