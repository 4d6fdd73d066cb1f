import { components } from '../support/release.ts';
import type { Stage } from '../support/stage.ts';

interface SecurePod {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly automountServiceAccountToken?: boolean;
    readonly securityContext?: { readonly runAsNonRoot?: boolean };
    readonly containers: readonly {
      readonly securityContext?: {
        readonly readOnlyRootFilesystem?: boolean;
        readonly allowPrivilegeEscalation?: boolean;
      };
    }[];
  };
}

export function installationSuite(stage: () => Stage): void {
  describe('helm install', () => {
    test('creates a release whose helm test passes', async () => {
      expect(await stage().release.test()).toMatch(/Succeeded/);
    }, 150_000);

    test('runs every pod as a non-root user, on a read-only file system, without a token', async () => {
      for (const component of components) {
        const pods = (await stage().release.waitForPods(component)) as unknown as SecurePod[];
        for (const { spec } of pods) {
          expect(spec.automountServiceAccountToken).toBe(false);
          expect(spec.securityContext?.runAsNonRoot).toBe(true);
          for (const { securityContext } of spec.containers) {
            expect(securityContext).toMatchObject({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false });
          }
        }
      }
    });

    test('keeps secrets out of the environment of its pods', async () => {
      const { kubernetes } = stage().release;
      for (const kind of ['pods', 'configmaps']) {
        const text = await kubernetes.kubectl(['get', kind, '--output', 'yaml']);
        for (const secret of stage().secrets) expect(text).not.toContain(secret);
      }
    });
  });
}
