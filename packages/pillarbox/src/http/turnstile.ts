/** `arrival`: somebody whom we do not know yet. `refusal`: somebody who is to be told that it was too much. */
export type Passer = 'arrival' | 'refusal'

export interface TurnstileLimits {
  /** How many pass in one turn of the event loop. */
  perTurn: number
  /** Refusals that wait; more are not told, their connection is cut. Arrivals are limited before they come here. */
  mostRefusals: number
}

export interface Turnstile {
  /** Resolves when it is the caller's turn: true, or false where too many wait already and nothing is to be done for it. */
  pass(who: Passer): Promise<boolean>
}

/**
 * Whoever sends without waiting for answers, or sends again as soon as it is refused, would otherwise have the thread to
 * itself: a refusal costs as much as a third of what it costs to take an event in, and there is no end to them. So whatever
 * does not take anything in passes here, a few in each turn of the event loop, and in every turn everything that has come in
 * for those whom we know goes on first. Where there is nothing else to do turns are short, and this is hardly felt.
 */
export function createTurnstile(nextTurn: (run: () => void) => void, limits: TurnstileLimits): Turnstile {
  const waiting: Record<Passer, (() => void)[]> = { arrival: [], refusal: [] }
  let passed = 0
  let isArranged = false
  /** They take turns while both wait. */
  let next: Passer = 'arrival'

  function arrange(): void {
    if (isArranged) return
    isArranged = true
    nextTurn(turn)
  }

  function turn(): void {
    isArranged = false
    passed = 0
    while (passed < limits.perTurn) {
      const other = next === 'arrival' ? 'refusal' : 'arrival'
      const call = waiting[next].shift() ?? waiting[other].shift()
      next = other
      if (call === undefined) break
      passed += 1
      call()
    }
    // Until the next turn no more pass than are left of this one.
    if (passed > 0) arrange()
  }

  return {
    pass(who) {
      const isFree = passed < limits.perTurn && waiting.arrival.length + waiting.refusal.length === 0
      if (!isFree && who === 'refusal' && waiting.refusal.length >= limits.mostRefusals) return Promise.resolve(false)
      arrange()
      if (!isFree) return new Promise((resolve) => waiting[who].push(() => resolve(true)))
      passed += 1
      return Promise.resolve(true)
    },
  }
}
