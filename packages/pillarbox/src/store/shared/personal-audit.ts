import { createEraser } from '../../model/personal-data.ts'
import type { ErasedStretch, PersonalItem, PersonalStretch } from '../../operate/personal-store.ts'
import { eraseWordsOf } from './audit-log.ts'
import { ACT_ROWS } from './audit-rows.ts'
import { candidates, erasedRow, mentionsOf, searchOf, type TextTable } from './personal-text.ts'
import { givenRows, type Row, rows, type Script, type ScriptRunner } from './script.ts'

/** The audit is chained by hash: its words are made to go (docs/decisions/0024), and what it is about stays. */
const AUDIT: TextTable = { table: 'audit', key: { id: 'bigint' }, where: 'tenant_id = :tenantId' }

function* rowsOf(keys: readonly Row[]): Script<Row[]> {
  if (keys.length === 0) return []
  return yield* rows(
    `select ${ACT_ROWS.columns} from :g cross join pillarbox.audit r where r.id = g.id order by r.id`,
    {
      g: givenRows({ id: 'bigint' }, keys as { id: unknown }[]),
    },
  )
}

export async function findInAudit(
  { read }: ScriptRunner,
  stretch: PersonalStretch,
): Promise<{ items: PersonalItem[]; next: string | null }> {
  const eraser = createEraser(searchOf(stretch.person))
  return await read(function* () {
    const { keys, next } = yield* candidates(AUDIT, stretch)
    const found = yield* rowsOf(keys)
    return { items: found.flatMap((row) => mentionsOf('audit', ['id', 'at', 'action'], row, eraser) ?? []), next }
  })
}

export async function eraseInAudit(
  { dialect, read, write }: ScriptRunner,
  stretch: PersonalStretch,
): Promise<ErasedStretch> {
  const eraser = createEraser(searchOf(stretch.person))
  const { keys, next } = await read(() => candidates(AUDIT, stretch))
  const audit =
    keys.length === 0
      ? 0
      : await write(function* () {
          const found = yield* rowsOf(keys)
          return yield* eraseWordsOf(
            dialect,
            found.filter((row) => erasedRow('audit', row, eraser) !== null),
          )
        })
  return { erased: { audit }, remains: {}, next }
}
