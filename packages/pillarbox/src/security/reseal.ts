import { errorText } from '../model/errors.ts'
import type { SealedRow, SealedTable } from '../operate/sealed-store.ts'
import type { Keyring } from './keyring.ts'
import { createSeal, type SealedPlace, sealedUnder } from './seal.ts'
import { createSealedValueOpener, isSealed } from './sealed-value.ts'

export interface Resealed {
  /** What is to stand in the row; null: it may stay as it is. */
  text: string | null
  /** Values that were sealed by a host, with the sealing key of another master key. */
  byHosts: number
  /** Why a value of it cannot be opened, which stays as it is; null: all could. */
  problem: string | null
}

/**
 * Seals what stands in a row anew, under the ring's current key. Nothing but the sealed texts changes. What a host sealed
 * for the current key stays as it is; what it sealed for another becomes a value that the server sealed.
 */
export function createResealer(ring: Keyring): (table: SealedTable, row: SealedRow) => Resealed {
  const seal = createSeal(ring)
  const fromHosts = createSealedValueOpener(ring)
  const sealAnew = (sealed: string, place: SealedPlace): string => seal.seal(seal.open(sealed, place), place)

  function reseal(sealed: string, place: SealedPlace): Resealed {
    if (sealed.startsWith(sealedUnder(ring.currentId))) return UNCHANGED
    try {
      return { ...UNCHANGED, text: sealAnew(sealed, place) }
    } catch (error) {
      return { ...UNCHANGED, problem: errorText(error) }
    }
  }

  /** One value of a payload. */
  function resealValue(sealed: string, place: SealedPlace): Resealed {
    const owner = fromHosts.masterKeyOf(sealed)
    if (owner === null) return sealed.startsWith('s1.') ? reseal(sealed, place) : FOREIGN
    if (owner === ring.currentId) return UNCHANGED
    const opened = fromHosts.open(sealed, place.tenantId)
    if ('error' in opened) return { ...UNCHANGED, problem: opened.error }
    return { text: seal.seal(JSON.stringify(opened.value), place), byHosts: 1, problem: null }
  }

  function resealPayload(text: string, place: SealedPlace): Resealed {
    const values = new Map<string, Resealed>()
    const payload = JSON.parse(text, (_, value: unknown) => {
      if (isSealed(value) && !values.has(value.$sealed)) values.set(value.$sealed, resealValue(value.$sealed, place))
      return value
    }) as unknown
    const changed = new Map<string, string>()
    for (const [sealed, { text: anew }] of values) if (anew !== null) changed.set(sealed, anew)
    return {
      text: changed.size === 0 ? null : withTexts(text, payload, changed),
      byHosts: [...values.values()].reduce((sum, { byHosts }) => sum + byHosts, 0),
      problem: [...values.values()].find(({ problem }) => problem !== null)?.problem ?? null,
    }
  }

  return (table, { tenantId, id, text }) => {
    const place = { tenantId, table, rowId: id }
    try {
      if (table === 'events') return resealPayload(text, place)
      if (table !== 'notifications') return reseal(text, place)
      const { text: anew, ...rest } = reseal((JSON.parse(text) as { sealed: string }).sealed, place)
      return { text: anew === null ? null : JSON.stringify({ sealed: anew }), ...rest }
    } catch (error) {
      // A payload nested too deep to be read, say.
      return { ...UNCHANGED, problem: errorText(error) }
    }
  }
}

const UNCHANGED: Resealed = { text: null, byHosts: 0, problem: null }
const FOREIGN: Resealed = { ...UNCHANGED, problem: 'was sealed with a sealing key that belongs to none of these keys' }

/**
 * The payload's own text with new sealed texts in it: numbers and whatever else is written in a way of its own must come
 * out as they went in. A sealed text stands in JSON as it is, unless somebody went out of their way to escape it.
 */
function withTexts(text: string, payload: unknown, changed: ReadonlyMap<string, string>): string {
  const replaced = new Set<string>()
  const written = text.replaceAll(/("\$sealed"\s*:\s*")([\w.-]+)"/g, (whole, before: string, sealed: string) => {
    const anew = changed.get(sealed)
    if (anew === undefined) return whole
    replaced.add(sealed)
    return `${before}${anew}"`
  })
  if (replaced.size === changed.size) return written
  return JSON.stringify(payload, (_, value: unknown) =>
    isSealed(value) ? { $sealed: changed.get(value.$sealed) ?? value.$sealed } : value,
  )
}
