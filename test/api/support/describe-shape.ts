import { perSuite } from '@rms/testkit';
import { readContract } from './openapi-contract.ts';
import type { Shape, Target } from './shape.ts';

interface RunningShape extends Shape {
  stop(): Promise<void>;
}

/** Starts a shape, runs suites against it, and stops it. */
export function describeShape(
  name: string,
  start: () => Promise<RunningShape>,
  suites: (target: () => Target) => void,
): void {
  describe(name, () => {
    let target: Target | undefined;
    const shape = perSuite(start);
    beforeAll(async () => {
      target = { shape, contract: await readContract(shape.liveUrl, shape.dispatcher) };
    });
    suites(() => {
      if (!target) throw new Error(`${name} did not start`);
      return target;
    });
  });
}
