import type pg from 'pg'

/** Writes `count` copies of the one row that `where` finds, with `changed` columns as SQL over `t` (it) and `g` (1…). */
export async function cloneRows(
  client: pg.Client,
  table: { schema: string; name: string },
  where: string,
  count: number,
  changed: Record<string, string>,
): Promise<void> {
  const { rows } = await client.query<{ column_name: string }>(
    `select column_name from information_schema.columns
     where table_schema = $1 and table_name = $2 and is_generated = 'NEVER' and identity_generation is null
     order by ordinal_position`,
    [table.schema, table.name],
  )
  const name = `${table.schema}.${table.name}`
  const columns = rows.map(({ column_name }) => column_name).filter((column) => changed[column] !== '')
  await client.query(
    `insert into ${name} (${columns.map((column) => `"${column}"`).join(', ')})
     select ${columns.map((column) => changed[column] ?? `t."${column}"`).join(', ')}
     from (select * from ${name} where ${where} limit 1) t, generate_series(1, $1::int) g`,
    [count],
  )
}
