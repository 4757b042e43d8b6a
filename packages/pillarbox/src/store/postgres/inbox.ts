// Only on PostgreSQL: on SQLite every write shares a commit anyway, and the shared script is enough.

import type { InboxStore } from '../../channels/in_app/inbox-store.ts'
import { type NewInboxMessage, putMessages } from '../shared/inbox.ts'
import { grouped } from './group.ts'
import { scriptRunner } from './scripts.ts'
import type { Session } from './session.ts'

/** Putting messages into inboxes, which provider calls wait for: concurrent ones share a commit. */
export function openInboxPut(session: Session): Pick<InboxStore, 'put'> {
  const { dialect, write } = scriptRunner(session, { prepares: true })
  const put = grouped(async (messages: readonly NewInboxMessage[]) => {
    await write(() => putMessages(dialect, messages))
    return messages.map(() => true)
  })
  return {
    put: async (message) => {
      await put([message])
    },
  }
}
