import type { Pool } from '@rms/postgres/db';

/** Relations of the services' schemas. Partitions are left out, because their days and months depend on the clock. */
const relations = `
  select c.*, n.nspname, c.oid::regclass::text as title from pg_class as c join pg_namespace as n on n.oid = relnamespace
   where n.nspname in ('audit', 'auth', 'outbox', 'resources', 'webhooks', 'alerts')
     and relkind in ('r', 'p', 'v', 'm', 'S') and not relispartition`;

/** Returns the definitions of everything in the services' schemas, sorted by name, as pg_dump would show them. */
export async function dumpSchemas(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(`
    with relation as materialized (${relations})
    select line collate "C" from (
      select concat_ws(' ', 'relation', title, relkind, relpersistence, reloptions, relacl, pg_get_partkeydef(oid),
                       (select reloptions from pg_class as toast where toast.oid = relation.reltoastrelid),
                       case relkind when 'v' then pg_get_viewdef(oid) end) as line
        from relation
      union all
      select concat_ws(' ', 'column', title, lpad(row_number() over (partition by attrelid order by attnum)::text, 3), attname,
                       format_type(atttypid, atttypmod), attcollation::regcollation, attnotnull, attidentity,
                       attgenerated, attstorage, attcompression, attoptions, pg_get_expr(adbin, adrelid))
        from relation join pg_attribute on attrelid = relation.oid and attnum > 0 and not attisdropped
        left join pg_attrdef on adrelid = attrelid and adnum = attnum
       where relkind <> 'S'
      union all
      select concat_ws(' ', 'sequence', title, pg_get_serial_sequence(title, attname), seqtypid::regtype, seqstart,
                       seqincrement, seqmax, seqmin, seqcache, seqcycle)
        from relation join pg_attribute on attrelid = relation.oid and attidentity <> ''
        join pg_sequence on seqrelid = pg_get_serial_sequence(title, attname)::regclass
      union all
      select concat_ws(' ', 'constraint', title, conname, pg_get_constraintdef(k.oid), convalidated)
        from relation join pg_constraint as k on conrelid = relation.oid
      union all
      select concat_ws(' ', 'index', title, pg_get_indexdef(indexrelid), indisvalid)
        from relation join pg_index on indrelid = relation.oid
      union all
      select concat_ws(' ', 'trigger', title, pg_get_triggerdef(t.oid), tgenabled)
        from relation join pg_trigger as t on tgrelid = relation.oid and not tgisinternal
      union all
      select concat_ws(' ', 'function', pg_get_functiondef(p.oid), proacl)
        from pg_proc as p where pronamespace in (select relnamespace from relation)
    ) as dump
    order by 1`);
  return rows.map(({ line }) => line);
}
