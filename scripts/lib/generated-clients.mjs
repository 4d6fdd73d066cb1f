import { pythonClient } from './python-client.mjs';
import { typescriptClient } from './typescript-client.mjs';

/** Returns the generated files of the clients: path relative to the repository root → text. */
export async function generatedClients() {
  // Loaded here, because the packages may have just been installed.
  const { openApiDocument } = await import('../../services/gateway/src/openapi/document.ts');
  // As JSON, where zod's schemas are plain objects.
  const document = JSON.parse(JSON.stringify(openApiDocument()));
  const folders = {
    'clients/typescript/src/generated': typescriptClient(document),
    'clients/python/src/rms_client': pythonClient(document),
  };
  return new Map(
    Object.entries(folders).flatMap(([folder, files]) => [...files].map(([name, text]) => [`${folder}/${name}`, text])),
  );
}
