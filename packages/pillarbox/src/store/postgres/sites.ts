import type { SiteStore } from '../../intake/site-store.ts'
import { noteContact, takeSite } from '../shared/sites.ts'
import { insertNotifications } from './notifications.ts'
import { dialect, scriptRunner } from './scripts.ts'
import type { Session } from './session.ts'

/** Writing what sites hand off. */
export function openSites(intake: Session): Pick<SiteStore, 'handOff'> {
  const scripts = scriptRunner(intake)
  return {
    handOff: (contact, items) =>
      intake.transaction(async (run) => {
        const taken = await scripts.follow(run, takeSite(dialect, contact))
        const notifications = items.map(({ notification }) => notification)
        const { answers } = notifications.length > 0 ? await insertNotifications(run, notifications) : { answers: [] }
        return await scripts.follow(run, noteContact(dialect, taken, contact, items, answers))
      }),
  }
}
