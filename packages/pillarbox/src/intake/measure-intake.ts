import type { CounterLabels } from '../model/meters.ts'
import type { Meters, Tracing } from '../model/ports.ts'

/** What became of one item that was handed in. */
type IntakeAnswer = { duplicate: boolean } | { problem: unknown }

interface IntakeSource {
  tenantId: string
  /** The trace of the request, by W3C Trace Context. */
  traceparent?: string | null
}

/**
 * Takes items in as one piece of their request's trace, and counts what became of each. What is written because of it belongs
 * to that piece of the trace.
 */
export async function measureIntake<From extends IntakeSource, Answer extends IntakeAnswer>(
  { meters, tracing }: { meters: Meters; tracing: Tracing },
  { from, way, items }: { from: From; way: CounterLabels<'intake'>['way']; items: number },
  take: (from: From) => Promise<Answer[]>,
): Promise<Answer[]> {
  const { tenantId, traceparent = null } = from
  const span = tracing.isOn() ? tracing.begin('pillarbox.publish', traceparent, { tenantId, way, items }) : null
  let answers: Answer[]
  try {
    answers = span ? await span.within(() => take({ ...from, traceparent: span.traceparent })) : await take(from)
  } catch (error) {
    span?.end({}, true)
    throw error
  }
  const counts = { accepted: 0, duplicate: 0, refused: 0 }
  for (const answer of answers) counts[resultOf(answer)]++
  for (const [result, count] of Object.entries(counts)) if (count > 0) meters.count('intake', { way, result }, count)
  span?.end(counts)
  return answers
}

function resultOf(answer: IntakeAnswer): 'accepted' | 'duplicate' | 'refused' {
  if ('problem' in answer) return 'refused'
  return answer.duplicate ? 'duplicate' : 'accepted'
}
