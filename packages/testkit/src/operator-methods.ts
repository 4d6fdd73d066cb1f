import type { DescService } from '@bufbuild/protobuf';
import { type Callers, operatorMethods } from '@rms/rpc';
import { callEachMethod, callerKinds } from './call-each-method.ts';
import { perSuite } from './fixture.ts';
import { testGlobals } from './test-globals.ts';

/** A service, its table of callers, and the methods that only `rms` may call, and only for an operator. */
interface OperatorMethodsCase {
  readonly callers: Callers;
  readonly services: readonly DescService[];
  /** As "package.Service/Method", sorted. */
  readonly forOperators: readonly string[];
  readonly start: () => Promise<{ readonly address: string; stop(): Promise<void> }>;
}

/** Declares the tests that exactly these methods of a service are refused unless an operator is the actor. */
export function testOperatorMethods({ callers, services, forOperators, start }: OperatorMethodsCase): void {
  const { describe, test, expect } = testGlobals();
  describe('methods for operators', () => {
    const service = perSuite(start);

    const refusedFor = async (kind: keyof typeof callerKinds) => {
      const results = await callEachMethod(service.address, services, callerKinds[kind]);
      const all = Object.keys(results);
      return { all, refused: all.filter((method) => results[method] === 'insufficient_role') };
    };

    test('are the methods that the table of callers grants to no service', () => {
      expect([...operatorMethods(callers, services)].sort()).toEqual(forOperators);
    });

    for (const kind of ['user', 'key'] as const) {
      test(`reject a ${kind}`, async () => {
        const { all, refused } = await refusedFor(kind);
        expect(refused).toEqual(expect.arrayContaining([...forOperators]));
        expect(all.length).toEqual(services.flatMap(({ methods }) => methods).length);
      });
    }

    for (const kind of ['operator', 'service'] as const) {
      test(`accept an ${kind}`, async () => {
        const { refused } = await refusedFor(kind);
        expect(refused.filter((method) => forOperators.includes(method))).toEqual([]);
      });
    }
  });
}
