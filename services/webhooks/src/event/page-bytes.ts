/**
 * A page of events ends with the event that brings it to this size. A page with large bodies has fewer events.
 */
export const pageBytes = 4 * 1024 * 1024;

/**
 * SQL that selects the first rows of `page` in an order, up to `bytes` of bodies, but at least one. Sizes are
 * determined without reading the bodies, so a row's body beyond the limit is never read. `total` is the number of
 * rows of `page`.
 */
export const firstWithin = (page: string, order: string, bytes: string) => `
          select * from (
            select e.*, count(*) over ()::integer as total,
                   sum(coalesce(octet_length(body), 0)) over (order by ${order}) - coalesce(octet_length(body), 0)
                     as bytes_before
              from (${page}) as e
          ) as e where bytes_before < ${bytes}`;
