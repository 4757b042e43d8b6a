import type { Completion } from '../../dispatch/dispatch-store.ts'

/** Accepted, and nothing else to say of it. */
export function isSent({ to, outcome, code, error, reason, resolvedTargets }: Completion): boolean {
  const isAccepted = to === 'sent' && outcome === 'accepted'
  return isAccepted && code === null && error === null && reason === null && resolvedTargets === null
}
