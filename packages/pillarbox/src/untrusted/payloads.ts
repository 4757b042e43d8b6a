import type { PayloadRules } from '../catalogue/check-payload.ts'
import type { FieldError } from '../model/errors.ts'
import type { Allowance } from './allowance.ts'
import { answerOf, NO_TIME, REFUSED, type Untrusted, type WorkResult } from './untrusted.ts'

export interface GivenPayload {
  tenantId: string
  type: PayloadRules
  payload: unknown
}

/** What is wrong with a payload, or why nobody has looked at it: there was no time left, or it is not tried for now. */
export type PayloadVerdict = { faults: FieldError[] } | { unjudged: 'no_time' | 'refused' }

/** Each payload by its type's schema, all asked at once. Nothing is wrong with one whose type has none. */
export async function checkPayloads(
  untrusted: Untrusted,
  payloads: readonly GivenPayload[],
  turn: string,
  allowance: Allowance | null = null,
): Promise<PayloadVerdict[]> {
  const withSchema = payloads.filter(({ type }) => type.payload !== null)
  const asked = withSchema.map(({ tenantId, type, payload }) => ({ tenantId, rules: rulesOf(type), payload }))
  const results = await untrusted.run('checkPayload', asked, turn, allowance)
  const verdicts = new Map(withSchema.map((each, i) => [each, verdictOf(results[i])]))
  return payloads.map((each) => verdicts.get(each) ?? { faults: [] })
}

function verdictOf(result: WorkResult<'checkPayload'> | undefined): PayloadVerdict {
  if (result === NO_TIME) return { unjudged: 'no_time' }
  if (result === REFUSED) return { unjudged: 'refused' }
  return { faults: answerOf(result, unchecked) }
}

/** The same object for the same type: then a message says it once. */
function rulesOf(type: PayloadRules): PayloadRules {
  const rules = rulesBefore.get(type) ?? { payload: type.payload, secrets: type.secrets }
  rulesBefore.set(type, rules)
  return rules
}

const rulesBefore = new WeakMap<PayloadRules, PayloadRules>()

function unchecked(stopped: string): FieldError[] {
  return [{ path: '', message: `cannot be checked by its schema: ${stopped}` }]
}
