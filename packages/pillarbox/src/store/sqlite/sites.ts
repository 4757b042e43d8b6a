import type { SiteStore } from '../../intake/site-store.ts'
import { noteContact, takeSite } from '../shared/sites.ts'
import { gather, insertGathered } from './marks.ts'
import { insertNotification } from './notifications.ts'
import { type Connections, dialect, runScript } from './scripts.ts'

/** Writing what sites hand off. */
export function openSites({ connection, writer }: Connections): Pick<SiteStore, 'handOff'> {
  return {
    handOff: (contact, items) =>
      writer.write((now) => {
        const taken = runScript(connection, takeSite(dialect, contact))
        const gathered = gather()
        const written = items.map(({ notification }) => {
          const { id, duplicate } = insertNotification(connection, notification, now, gathered)
          return { id, duplicate: duplicate !== false }
        })
        insertGathered(connection, gathered)
        return runScript(connection, noteContact(dialect, taken, contact, items, written))
      }),
  }
}
