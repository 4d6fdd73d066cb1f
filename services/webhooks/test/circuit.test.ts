import { Circuit, pauseAfterMs } from '../src/delivery/circuit.ts';

const middle = 0.5;

/** Fails so many times in a row; answers whether the last one opened the circuit. */
function fail(circuit: Circuit, times: number, nowMs = 0): boolean {
  let opened = false;
  for (let i = 0; i < times; i += 1) opened = circuit.failed(nowMs, middle);
  return opened;
}

describe('the circuit of an endpoint', () => {
  test('opens at the tenth failure in a row, for half a second', () => {
    const circuit = new Circuit();
    expect(fail(circuit, 9)).toBe(false);
    expect(circuit.state(0)).toBe('closed');
    expect(fail(circuit, 1)).toBe(true);
    expect(circuit.opensAtMs).toBe(500);
    expect([0, 499, 500].map((nowMs) => circuit.state(nowMs))).toEqual(['open', 'open', 'half-open']);
  });

  test('of an endpoint that has failed before opens at its first failure, unless it succeeds first', () => {
    expect(fail(new Circuit(true), 1)).toBe(true);
    const better = new Circuit(true);
    better.succeeded();
    expect(fail(better, 9)).toBe(false);
  });

  test('a success in between starts the count anew', () => {
    const circuit = new Circuit();
    fail(circuit, 9);
    circuit.succeeded();
    expect(circuit.pristine).toBe(true);
    expect(fail(circuit, 9)).toBe(false);
    expect(circuit.state(0)).toBe('closed');
  });

  test('failures of attempts that were under way when it opened change nothing', () => {
    const circuit = new Circuit();
    fail(circuit, 10);
    expect(fail(circuit, 20, 100)).toBe(false);
    expect(circuit.opensAtMs).toBe(500);
  });

  test('an endpoint that had failed before is paused for longer at first', () => {
    const circuit = new Circuit(true);
    expect(circuit.opensNext).toBe(true);
    expect(circuit.failed(0, middle)).toBe(true);
    expect(circuit.opensNext).toBe(false);
    expect(circuit.opensAtMs).toBe(5_000);
    circuit.succeeded();
    fail(circuit, 10);
    expect(circuit.opensAtMs).toBe(500);
  });

  test('each probe that fails doubles the pause, up to ten seconds; one that succeeds closes it', () => {
    const circuit = new Circuit();
    fail(circuit, 10);
    const pauses: number[] = [];
    for (let i = 0; i < 6; i += 1) {
      const probedAtMs = circuit.opensAtMs ?? 0;
      expect(circuit.failed(probedAtMs, middle)).toBe(true);
      pauses.push((circuit.opensAtMs ?? 0) - probedAtMs);
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    circuit.succeeded();
    expect(circuit.state(0)).toBe('closed');
    fail(circuit, 10);
    expect(circuit.opensAtMs).toBe(500);
  });

  test('the pause varies by half, so that neither instances nor endpoints are probed in step', () => {
    const ends = [0, 1].map((random) => {
      const circuit = new Circuit();
      for (let i = 0; i < 10; i += 1) circuit.failed(0, random);
      return Math.round(circuit.opensAtMs ?? 0);
    });
    expect(ends).toEqual([250, 750]);
  });

  test('the pause that it is in follows from how long it has been open', () => {
    const circuit = new Circuit();
    fail(circuit, 10);
    for (let i = 0; i < 8; i += 1) {
      const startedAtMs = i === 0 ? 0 : (circuit.opensAtMs ?? 0);
      if (i > 0) circuit.failed(startedAtMs, middle);
      const endsAtMs = circuit.opensAtMs ?? 0;
      expect([pauseAfterMs(startedAtMs + 1), pauseAfterMs(endsAtMs)]).toEqual([
        endsAtMs - startedAtMs,
        endsAtMs - startedAtMs,
      ]);
    }
  });
});
