import type { PersonalStep, PersonalStore } from '../../operate/personal-store.ts'
import { eraseInAudit, findInAudit } from './personal-audit.ts'
import { eraseNotifications, findNotifications } from './personal-notifications.ts'
import {
  countListMembers,
  erasedAnswer,
  eraseOwn,
  findOwn,
  findSuppressions,
  forgetShared,
  hashSuppressions,
  knownPerson,
  ownRowsOf,
} from './personal-people.ts'
import { eraseInText, findInText, TEXT_TABLES } from './personal-text.ts'
import type { ScriptRunner } from './script.ts'

/** Everything about one person: what is theirs alone is found by who they are, everything else by looking through it. */
export function sharedPersonal(run: ScriptRunner, compact: PersonalStore['compact']): PersonalStore {
  const { dialect, read, write } = run
  return {
    known: (tenantId, given) => read(() => knownPerson(tenantId, given)),
    compact,
    async find(step, stretch) {
      const { person } = stretch
      if (step === 'audit') return await findInAudit(run, stretch)
      if (isTextStep(step)) return await findInText(run, TEXT_TABLES[step], stretch)
      if (step === 'notifications') return await findNotifications(run, stretch)
      const items = await read(() =>
        step === 'suppressions' ? findSuppressions(person) : findOwn(ownRowsOf(step, person)),
      )
      return { items, next: null }
    },
    async erase(step, stretch) {
      const { person } = stretch
      if (step === 'audit') return await eraseInAudit(run, stretch)
      if (isTextStep(step)) return await eraseInText(run, TEXT_TABLES[step], stretch)
      if (step === 'notifications') return await eraseNotifications(run, stretch)
      if (step === 'suppressions') return erasedAnswer({ suppressions: await write(() => hashSuppressions(person)) })
      return await write(function* () {
        const erased = yield* eraseOwn(ownRowsOf(step, person))
        if (step === 'members') yield* countListMembers(person)
        if (step !== 'contacts') return erasedAnswer(erased)
        const shared = yield* forgetShared(dialect, person)
        return erasedAnswer({ ...erased, contacts: (erased['contacts'] ?? 0) + shared })
      })
    },
  }
}

function isTextStep(step: PersonalStep): step is keyof typeof TEXT_TABLES {
  return step in TEXT_TABLES
}
