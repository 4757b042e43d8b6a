import type { Contact } from '@pillarbox/client'
import { useCallback, useEffect, useState } from 'react'
import { call } from '../app/api.ts'
import type { Scope } from '../app/session.ts'

/** How long somebody is shown. */
const SHOWN_SECONDS = 60

/** A contact as it is, for a minute, on record. It is kept nowhere but on this page. */
export function useReveal(id: string, scope: Scope) {
  const [revealed, setRevealed] = useState<Contact | null>(null)
  const [secondsLeft, setSecondsLeft] = useState(0)
  const [problem, setProblem] = useState<unknown>(null)
  const hide = useCallback(() => setRevealed(null), [])

  // Another contact is another reveal.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the id that makes it another.
  useEffect(() => setRevealed(null), [id])
  useEffect(() => {
    if (revealed === null) return undefined
    const until = Date.now() + SHOWN_SECONDS * 1_000
    setSecondsLeft(SHOWN_SECONDS)
    const timer = setInterval(() => {
      const left = Math.ceil((until - Date.now()) / 1_000)
      setSecondsLeft(left)
      if (left <= 0) setRevealed(null)
    }, 1_000)
    return () => clearInterval(timer)
  }, [revealed])

  return {
    revealed,
    secondsLeft,
    problem,
    hide,
    reveal(): void {
      setProblem(null)
      call<Contact>('POST', `/api/contacts/${id}/reveal`, scope.query).then(setRevealed, setProblem)
    },
  }
}
