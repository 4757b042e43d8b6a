import { sealWith } from '@pillarbox/client'
import { SEALED_TABLES, type SealedRow, type SealedTable } from '../../packages/pillarbox/src/operate/sealed-store.ts'
import { openAccountSecrets, sealAccountSecrets } from '../../packages/pillarbox/src/security/account-secrets.ts'
import type { Keyring } from '../../packages/pillarbox/src/security/keyring.ts'
import { createPayloadSeal } from '../../packages/pillarbox/src/security/payload-seal.ts'
import { createSeal } from '../../packages/pillarbox/src/security/seal.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'
import { sampleEvent, sampleNotification, storedAccount } from './samples.ts'

/** The secret in each sealed row, by `<table>/<id>`. */
export type Secrets = Map<string, string>

const TENANT = 'acme'
const USER = 'user-1'

export interface SealedRows {
  readonly secrets: Secrets
  /** Writes a row with this secret, and remembers it. */
  write(table: SealedTable, secret: string): Promise<void>
  /** Gives one of the accounts that were written another secret. */
  rewriteAccount(which: number, secret: string): Promise<void>
}

/**
 * Writes sealed rows as the product does, under the ring's current key. Every other event is sealed as a host does it,
 * with the sealing key it was given: the one of the ring at the time, or `hostKey`.
 */
export function sealedRows(store: Store, ring: Keyring, ids: () => string, hostKey?: string): SealedRows {
  const seal = createSeal(ring)
  const payloads = createPayloadSeal(ring)
  const secrets: Secrets = new Map()
  const accountIds: string[] = []
  let events = 0

  async function account(secret: string): Promise<string> {
    const id = ids()
    const sealed = sealAccountSecrets(seal, { id, tenantId: TENANT }, { password: secret })
    await store.accounts.insert(storedAccount({ id, tenantId: TENANT, name: id, ...sealed }))
    accountIds.push(id)
    return id
  }

  const writers: Record<SealedTable, (secret: string) => Promise<string>> = {
    accounts: account,
    async notifications(secret) {
      const id = ids()
      const content = { subject: null, body: secret, data: {} }
      const sealed = payloads.sealContent(content, [secret], { tenantId: TENANT, notificationId: id })
      const lane = accountIds[0] ?? (await write('accounts', 'of the lane'))
      await store.notifications.insert([
        sampleNotification({ id, tenantId: TENANT, idempotencyKey: id, accountId: lane, content: sealed }),
      ])
      return id
    },
    async events(secret) {
      const id = ids()
      const byHost = sealWith(hostKey ?? payloads.sealingKey, { tenantId: TENANT })
      const clear = { id, tenantId: TENANT, payload: { token: secret, guest: 'Guest' } }
      const payload = events++ % 2 === 0 ? payloads.sealFields(clear, ['token']) : { token: byHost(secret) }
      await store.events.insert([sampleEvent({ id, tenantId: TENANT, payload })])
      return id
    },
    async inbox_messages(secret) {
      const id = ids()
      const sealed = seal.seal(secret, { tenantId: TENANT, table: 'inbox_messages', rowId: id })
      await store.inbox.put({ id, tenantId: TENANT, userId: USER, sealed })
      return id
    },
  }
  async function write(table: SealedTable, secret: string): Promise<string> {
    const id = await writers[table](secret)
    secrets.set(`${table}/${id}`, secret)
    return id
  }

  return {
    secrets,
    async write(table, secret) {
      await write(table, secret)
    },
    async rewriteAccount(which, secret) {
      const id = accountIds[which % accountIds.length] ?? ''
      await store.accounts.update(TENANT, id, sealAccountSecrets(seal, { id, tenantId: TENANT }, { password: secret }))
      secrets.set(`accounts/${id}`, secret)
    },
  }
}

/** The tenant that the rows belong to. */
export async function makeTenant(store: Store): Promise<void> {
  const tenant = { id: TENANT, name: 'Acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} }
  await store.tenants.insert(tenant)
}

/** What of all that is sealed opens with this key alone, and the rows that do not. */
export async function openAll(store: Store, key: Buffer): Promise<{ opened: Secrets; closed: string[] }> {
  const opened: Secrets = new Map()
  const closed: string[] = []
  const open = opener(key)
  for (const table of SEALED_TABLES)
    for (const row of await allRows(store, table)) {
      const secret = open[table](row)
      if (secret === null) closed.push(`${table}/${row.id}`)
      else opened.set(`${table}/${row.id}`, secret)
    }
  return { opened, closed }
}

async function allRows(store: Store, table: SealedTable): Promise<SealedRow[]> {
  const found: SealedRow[] = []
  let after: string | null = null
  do {
    const { rows, next } = await store.sealed.look(table, after, 100, 'no text begins like this')
    found.push(...rows)
    after = next
  } while (after !== null)
  return found
}

function opener(key: Buffer): Record<SealedTable, (row: SealedRow) => string | null> {
  const seal = createSeal(key)
  const payloads = createPayloadSeal(key)
  const orNull = (open: () => string): string | null => {
    try {
      return open()
    } catch {
      return null
    }
  }
  return {
    accounts: ({ id, tenantId, text }) =>
      orNull(() => openAccountSecrets(seal, { id, tenantId, sealedSecrets: text })['password'] ?? ''),
    notifications({ id, tenantId, text }) {
      const opened = payloads.openContent(JSON.parse(text) as { sealed: string }, { tenantId, notificationId: id })
      return 'content' in opened ? opened.content.body : null
    },
    events({ id, tenantId, text }) {
      const opened = payloads.openPayload({ id, tenantId, payload: JSON.parse(text) as Record<string, unknown> }, [])
      return 'payload' in opened ? String(opened.payload['token']) : null
    },
    inbox_messages: ({ id, tenantId, text }) =>
      orNull(() => seal.open(text, { tenantId, table: 'inbox_messages', rowId: id })),
  }
}
