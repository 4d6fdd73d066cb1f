import type { BatchRange, PositionMove, StoredPosition } from '@rms/bus';
import { type Queryable, statementWith } from '@rms/postgres/db';

/** A partition range with the records that a transaction handles. */
export interface HandledRange {
  readonly range: BatchRange;
  /** Whether the position advances with the transaction. Otherwise, more statements of the range follow. */
  readonly advances: boolean;
}

export interface HandledRanges {
  readonly topic: string;
  /** At most one per partition. */
  readonly ranges: readonly HandledRange[];
}

/**
 * Returns CTEs that advance a topic's positions: `ranges`, `behind` (the partitions with a position before their
 * range, or missing; it does not advance, and the records must not be stored) and `advanced`. Positions never decrease
 * here, and are locked in the partitions' order. {@link positionValues} returns the values of their parameters.
 * @param condition whether positions may advance
 */
export function positionCtes(condition = 'true'): string {
  return `ranges as materialized (
        select * from unnest($partitions::integer[], $from::bigint[], $next::bigint[], $last::text[], $advances::boolean[])
            as r (bus_partition, from_offset, next_offset, last_record, advances)
      ), behind as materialized (
        select r.bus_partition
          from ranges as r
          left join webhooks.positions as p on p.topic = $topic::text and p.bus_partition = r.bus_partition
         where p.next_offset is null or p.next_offset < r.from_offset
      ), advanced as (
        insert into webhooks.positions as p (topic, bus_partition, next_offset, last_record, stored_at)
        select $topic::text, bus_partition, next_offset, last_record, now()
          from ranges
         where advances and bus_partition not in (select bus_partition from behind) and ${condition} order by bus_partition
            on conflict (topic, bus_partition) do update
           set next_offset = greatest(p.next_offset, excluded.next_offset),
               last_record = case when p.next_offset > excluded.next_offset then p.last_record
                                  else excluded.last_record end,
               stored_at = excluded.stored_at
      )`;
}

/** The values of {@link positionCtes}. */
export function positionValues({ topic, ranges }: HandledRanges) {
  return {
    topic,
    partitions: ranges.map(({ range }) => range.partition),
    from: ranges.map(({ range }) => range.from),
    next: ranges.map(({ range }) => range.next),
    last: ranges.map(({ range }) => range.last),
    advances: ranges.map(({ advances }) => advances),
  };
}

const advance = statementWith<ReturnType<typeof positionValues>>(
  'positions-advance',
  `with ${positionCtes()} select bus_partition from behind`,
);

/** Advances positions without storing events. Returns the partitions with a position before their range. */
export async function advancePositions(
  db: Queryable,
  topic: string,
  ranges: readonly BatchRange[],
): Promise<readonly number[]> {
  const { rows } = await db.query<{ bus_partition: number }>(
    advance(positionValues({ topic, ranges: ranges.map((range) => ({ range, advances: true })) })),
  );
  return rows.map(({ bus_partition: partition }) => partition);
}

/** Reads the positions of partitions, and the feeds' epoch. */
export async function readPositions(db: Queryable, topic: string, partitions: readonly number[]) {
  const { rows } = await db.query<{
    epoch: number;
    partition: number | null;
    next_offset: string;
    last_record: string | null;
  }>({
    name: 'positions-read',
    text: `
      select e.epoch, p.bus_partition as partition, p.next_offset, p.last_record
        from webhooks.feed_epoch as e
        left join webhooks.positions as p on p.topic = $1 and p.bus_partition = any($2::integer[])
       where e.single`,
    values: [topic, partitions],
  });
  const positions = rows.flatMap(({ partition, next_offset: next, last_record: last }): [number, StoredPosition][] =>
    partition === null ? [] : [[partition, { next: BigInt(next), last: last ?? undefined }]],
  );
  return { epoch: rows[0]?.epoch ?? 0, positions: new Map(positions) };
}

const move = statementWith(
  'positions-move',
  `
    with moved as (
      insert into webhooks.positions as p (topic, bus_partition, next_offset, stored_at)
      select $topic::text, $partition::integer, $next::bigint, now()
       where $was::bigint is null
          or exists (select from webhooks.positions where topic = $topic and bus_partition = $partition and next_offset = $was)
          on conflict (topic, bus_partition) do update
         set next_offset = excluded.next_offset, stored_at = now(),
             last_record = case when p.next_offset = excluded.next_offset then p.last_record end
       where p.next_offset = $was
      returning next_offset
    ), lost as (
      insert into webhooks.losses (topic, bus_partition, from_offset, to_offset, records, reason, found_at)
      select $topic, $partition, $lostFrom::bigint, $lostTo::bigint, $lostTo::bigint - $lostFrom::bigint, $reason, now() from moved where $reason::text is not null
    ), begun as (
      update webhooks.feed_epoch set epoch = $endedEpoch::integer + 1, began_at = now(), first_workspace = webhooks.first_id('ws', now())
       where single and epoch <= $endedEpoch and exists (select from moved)
      returning epoch
    )
    select coalesce((select epoch from begun), e.epoch) as epoch
      from webhooks.feed_epoch as e where e.single and exists (select from moved)`,
);

/**
 * Sets a position unless it has changed, stores a loss, and begins the epoch after `endedEpoch` unless it has begun.
 * Returns the epoch; undefined if the position has changed.
 */
export async function movePosition(
  db: Queryable,
  topic: string,
  { partition, was, next, loss, endedEpoch }: PositionMove,
): Promise<number | undefined> {
  const [lostFrom, lostTo] = loss?.range ?? [];
  const { rows } = await db.query<{ epoch: number }>(
    move({
      topic,
      partition,
      was: was ?? null,
      next,
      reason: loss?.reason ?? null,
      lostFrom: lostFrom ?? null,
      lostTo: lostTo ?? null,
      endedEpoch: endedEpoch ?? null,
    }),
  );
  return rows[0]?.epoch;
}
