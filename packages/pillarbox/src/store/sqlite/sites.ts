import type { SiteStore } from '../../intake/site-store.ts'
import type { RollupMove } from '../../model/rollup.ts'
import { noteContact, takeSite } from '../shared/sites.ts'
import { insertNotification } from './notifications.ts'
import { insertMoves } from './rollup-deltas.ts'
import { type Connections, dialect, runScript } from './scripts.ts'

/** Writing what sites hand off. */
export function openSites({ connection, writer }: Connections): Pick<SiteStore, 'handOff'> {
  return {
    handOff: (contact, items) =>
      writer.write((now) => {
        const taken = runScript(connection, takeSite(dialect, contact))
        const moves: RollupMove[] = []
        const written = items.map(({ notification }) => {
          const { id, duplicate } = insertNotification(connection, notification, now, moves)
          return { id, duplicate: duplicate !== false }
        })
        insertMoves(connection, moves)
        return runScript(connection, noteContact(dialect, taken, contact, items, written))
      }),
  }
}
