import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeWith, perSuite, startReceiver } from '@rms/testkit';
import { copiedText, openWorld, Role } from './support.ts';

const snippets = join(import.meta.dirname, '..', '..', 'packages', 'base', 'snippets');
/** Files of each language by title; the tests in packages/base/test/snippets/signature run them. */
const files = {
  curl: { 'Signed test request with curl': 'send.sh' },
  Node: {
    'Verification in Node': 'verify.mjs',
    'Receiver in Express': 'express.mjs',
    'Receiver in Next.js': 'route.js',
  },
  Python: {
    'Verification in Python': 'verify.py',
    'Receiver in FastAPI': 'fastapi_app.py',
    'Receiver in Flask': 'flask_app.py',
  },
  Go: { 'Verification in Go': 'verify.go', 'Receiver in net/http': 'main.go' },
  Java: {
    'Verification in Java': 'WebhookSignature.java',
    'Receiver in Spring Boot': 'WebhookController.java',
  },
} as const;

describeWith('chromium', 'The verification code on the page', () => {
  const world = perSuite(openWorld);
  const receiver = perSuite(startReceiver);

  test('is the tested code, and accepts a delivery with the secret of the page', async () => {
    const page = await world.open(await world.newUser('owner', Role.OWNER));
    await page.goto(`/w/${world.workspaceId}/live/webhooks/new`);
    await page.getByLabel('Endpoint URL').fill(receiver.url);
    await page.getByRole('button', { name: 'Create webhook' }).click();
    await page.getByRole('button', { name: 'Copy secret' }).click();
    const secret = await copiedText(world, page);
    for (const [language, samples] of Object.entries(files)) {
      await page.getByRole('tab', { name: language }).click();
      for (const [title, file] of Object.entries(samples)) {
        const block = page.getByRole('group', { name: title });
        await block.getByRole('button', { name: 'Copy' }).click();
        const copied = await copiedText(world, page);
        expect(copied).toBe(readFileSync(join(snippets, file), 'utf8'));
      }
    }
    const call = await world.apiCaller();
    await call('POST', '/v1/resources', { name: 'Grüße 李' });
    const { headers, body } = await receiver.waitFor(() => true, 'the delivery');
    const { verifySignature } = await import(join(snippets, files.Node['Verification in Node']));
    expect(verifySignature(headers, body, [secret])).toBe(true);
    expect(verifySignature(headers, Buffer.concat([body, Buffer.from(' ')]), [secret])).toBe(false);
  });
});
