import curl from '@rms/base/signature/snippets/send.sh?raw';
import Go from '@rms/base/signature/snippets/verify.go?raw';
import Node from '@rms/base/signature/snippets/verify.mjs?raw';
import Python from '@rms/base/signature/snippets/verify.py?raw';

/** Code samples for the signatures of deliveries. */
export const verificationCode = [
  { language: 'curl', title: 'Signed test request with curl', text: curl },
  { language: 'Node', title: 'Verification in Node', text: Node },
  { language: 'Python', title: 'Verification in Python', text: Python },
  { language: 'Go', title: 'Verification in Go', text: Go },
] as const;
