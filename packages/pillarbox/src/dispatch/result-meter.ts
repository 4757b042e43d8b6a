import type { Meters } from '../model/ports.ts'
import { reasonWord } from '../model/reason.ts'
import { WORKER_LOST } from './decide.ts'
import type { Completion } from './dispatch-store.ts'

/**
 * Counts results that were written together. Most of a batch share their labels, so that each set of labels is looked up once
 * for all of them.
 */
export function meterResults(meters: Meters, completions: readonly Completion[]): void {
  for (const [channel, ofChannel] of Map.groupBy(completions, ({ counted }) => counted.channel)) {
    const sentSeconds: number[] = []
    for (const [provider, results] of Map.groupBy(ofChannel, (each) => each.provider)) {
      const labels = { channel, provider }
      const callSeconds: number[] = []
      const outcomes = new Map<string, number>()
      let [retries, duplicates] = [0, 0]
      for (const each of results) {
        if (each.outcome !== null) outcomes.set(each.outcome, (outcomes.get(each.outcome) ?? 0) + 1)
        if (each.outcome !== null && each.code !== WORKER_LOST) callSeconds.push(each.durationMs / 1_000)
        if (each.to === 'retrying') retries++
        if (each.to === 'sent') sentSeconds.push((each.counted.claimedAt + each.ageMs - each.counted.wantedAt) / 1_000)
        if (isPossibleDuplicate(each)) duplicates++
      }
      for (const [outcome, count] of outcomes) meters.count('attempts', { ...labels, outcome }, count)
      if (retries > 0) meters.count('retries', labels, retries)
      if (duplicates > 0) meters.count('possible_duplicates', { channel }, duplicates)
      if (callSeconds.length > 0) meters.observe('attempt_duration', labels, callSeconds)
    }
    if (sentSeconds.length > 0) meters.observe('event_to_sent', { channel }, sentSeconds)
    const settled = ofChannel.filter(({ to }) => to !== 'retrying')
    for (const [to, { length }] of Map.groupBy(settled, (each) => each.to))
      meters.count('notifications_settled', { channel, to }, length)
    for (const { reason } of settled)
      if (reason !== null) meters.count('notifications_stopped', { reason: reasonWord(reason) })
  }
}

/** An earlier call may have arrived, this one did or may have, and the vendor does not know one for a repetition of the other. */
function isPossibleDuplicate({ counted, possibleDuplicate, outcome, code }: Completion): boolean {
  if (!counted.possibleDuplicate || !possibleDuplicate || code === WORKER_LOST) return false
  return outcome === 'accepted' || outcome === 'unknown'
}
