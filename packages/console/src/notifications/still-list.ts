import type { NotificationView } from '@pillarbox/client'
import { useRef, useState } from 'react'
import { useMoves } from '../app/live.ts'

export interface StillRow extends NotificationView {
  /** It has moved since it was listed, and would perhaps no longer be found. */
  hasMoved: boolean
}

/**
 * Keeps a list from jumping. Rows change where they are; new ones wait until they are asked for; those that the filter no longer finds
 * stay, marked. Only another question begins anew, once it is answered: until then `rows` is undefined.
 */
export function useStillList(rows: readonly NotificationView[] | undefined, question: string) {
  const kept = useRef<{ question: string; rows: readonly NotificationView[] } | null>(null)
  const [, show] = useState(0)
  const moves = useMoves()

  if (rows && (kept.current?.question !== question || kept.current.rows.length === 0)) kept.current = { question, rows }
  const shown = kept.current?.rows ?? []
  const fresh = new Map((rows ?? []).map((row) => [row.id, row]))
  const known = new Set(shown.map(({ id }) => id))
  // Older ones come behind what is there; they were asked for.
  const lastId = shown.at(-1)?.id ?? ''
  const older = (rows ?? []).filter(({ id }) => !known.has(id) && id < lastId)
  const newCount = (rows ?? []).filter(({ id }) => !known.has(id) && id > lastId).length

  return {
    rows: [...shown, ...older].map((row): StillRow => {
      const current = fresh.get(row.id)
      if (current) return { ...current, hasMoved: false }
      const status = (moves.get(row.id) ?? row.status) as NotificationView['status']
      return { ...row, status, hasMoved: true }
    }),
    newCount,
    showNew(): void {
      if (rows) kept.current = { question, rows }
      show((count) => count + 1)
    },
  }
}
