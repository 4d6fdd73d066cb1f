import curl from '@rms/signature/snippets/send.sh?raw';
import Go from '@rms/signature/snippets/verify.go?raw';
import Node from '@rms/signature/snippets/verify.mjs?raw';
import Python from '@rms/signature/snippets/verify.py?raw';

/** Code samples that verify the signature of a delivery (curl: sign a test event), by language. */
export const verificationCode = { curl, Node, Python, Go } as const;
