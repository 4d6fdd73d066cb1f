/**
 * SQL that selects the first rows of `page` in an order, up to `bytes` of bodies, but at least one. Sizes are
 * determined without reading the bodies, so a row's body beyond the limit is never read. `total` is the number of
 * rows of `page`.
 */
export const firstWithin = (page: string, order: string, bytes: string) => `
          select * from (
            select e.*, count(*) over ()::integer as total, row_number() over (order by ${order}) as number,
                   sum(coalesce(octet_length(body), 0)) over (order by ${order}) as bytes_with
              from (${page}) as e
          ) as e where bytes_with <= ${bytes} or number = 1`;
