import { useState } from 'react'

/** The rows of a list that somebody has ticked, or everything that the list's filter finds. */
export interface Selection {
  ticked: ReadonlySet<string>
  isAllMatching: boolean
  count: number
  has(id: string): boolean
  /** Ticks or unticks one; with `isRange`, all from the one that was touched last. */
  toggle(id: string, shown: readonly string[], isRange?: boolean): void
  /** Ticks all of these, or none of them. */
  set(ids: readonly string[]): void
  takeAllMatching(shown: readonly string[]): void
  clear(): void
}

interface Ticks {
  question: string
  ids: ReadonlySet<string>
  isAllMatching: boolean
  last: string | null
}

/** Another question begins with nothing ticked: nobody acts on rows that they no longer see. */
export function useSelection(question: string): Selection {
  const [kept, keep] = useState<Ticks>({ question, ids: new Set(), isAllMatching: false, last: null })
  const { ids, isAllMatching, last } =
    kept.question === question ? kept : { ids: new Set<string>(), isAllMatching: false, last: null }

  const change = (changes: Partial<Ticks>): void => keep({ question, ids, isAllMatching: false, last, ...changes })

  return {
    ticked: ids,
    isAllMatching,
    count: ids.size,
    has: (id) => ids.has(id),
    toggle(id, shown, isRange = false) {
      const next = new Set(ids)
      const isOn = !ids.has(id)
      const range = isRange && last !== null ? between(shown, last, id) : [id]
      for (const each of range) {
        if (isOn) next.add(each)
        else next.delete(each)
      }
      change({ ids: next, last: id })
    },
    set: (wanted) => change({ ids: new Set(wanted), last: null }),
    takeAllMatching: (shown) => change({ ids: new Set(shown), isAllMatching: true }),
    clear: () => change({ ids: new Set(), last: null }),
  }
}

function between(shown: readonly string[], one: string, other: string): readonly string[] {
  const [from, to] = [shown.indexOf(one), shown.indexOf(other)].toSorted((a, b) => a - b)
  return from === undefined || to === undefined || from < 0 ? [other] : shown.slice(from, to + 1)
}
