import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { durationFromMs, timestampFromMs } from '@rms/rpc';

const toUs = ({ seconds, nanos }: { seconds: bigint; nanos: number }) => Number(seconds) * 1e6 + nanos / 1_000;

test.each([
  [0, 0],
  [1, 1_000],
  [0.0004, 0],
  [1_795_898_385_123.45, 1_795_898_385_123_450],
  [-0.5, -500],
  [-1_500, -1_500_000],
])('%s ms since 1970 are a Timestamp of %s µs', (ms, us) => {
  const sent = fromBinary(TimestampSchema, toBinary(TimestampSchema, timestampFromMs(ms)));
  expect(toUs(sent)).toBe(us);
  expect(sent.nanos).toBeGreaterThanOrEqual(0);
});

test.each([
  [0, 0],
  [0.3, 300],
  [1_000.9999999999999, 1_001_000],
  [86_400_000, 86_400_000_000],
])('%s ms are a Duration of %s µs', (ms, us) => {
  expect(toUs(fromBinary(DurationSchema, toBinary(DurationSchema, durationFromMs(ms))))).toBe(us);
});
