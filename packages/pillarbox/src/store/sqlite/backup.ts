// Only on SQLite: this process copies the file. PostgreSQL brings pg_dump and pg_basebackup for that.

import { backup, DatabaseSync } from 'node:sqlite'

export interface BackupOptions {
  from: string
  /** An empty file, or none. */
  to: string
  /** Stops between two steps; then it rejects with what the signal was aborted for. */
  stop: AbortSignal
  onProgress?(done: number, total: number): void
}

/** Pages in a step: 4 MiB of the usual ones. Whoever writes to the file meanwhile never waits. */
const PAGES_A_STEP = 1_024

/**
 * Copies the database as it is at this moment, while others read and write it. One read transaction lasts for the whole of
 * it, which keeps what is being written in the log for so long; without it SQLite would begin anew whenever somebody else
 * writes, and under load never end. Reads the copy through at the end, and rejects where it is damaged. Answers its bytes.
 */
export async function backUpSqlite({ from, to, stop, onProgress }: BackupOptions): Promise<number> {
  const source = new DatabaseSync(from, { readOnly: true })
  try {
    source.exec('begin')
    source.prepare('select count(*) from sqlite_schema').get()
    await backup(source, to, {
      rate: PAGES_A_STEP,
      progress: ({ totalPages, remainingPages }) => {
        stop.throwIfAborted()
        onProgress?.(totalPages - remainingPages, totalPages)
      },
    })
  } finally {
    source.close()
  }
  return checkedBytes(to)
}

function checkedBytes(path: string): number {
  const copy = new DatabaseSync(path)
  try {
    const found = String(copy.prepare('pragma quick_check(1)').get()?.['quick_check'])
    if (found !== 'ok') throw new Error(`The copy is damaged: ${found}`)
    const { bytes } = copy
      .prepare('select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()')
      .get() as { bytes: number }
    return bytes
  } finally {
    copy.close()
  }
}
