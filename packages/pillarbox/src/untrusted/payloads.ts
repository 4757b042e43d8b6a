import type { PayloadRules } from '../catalogue/check-payload.ts'
import type { FieldError } from '../model/errors.ts'
import { answerOf, type Untrusted } from './untrusted.ts'

export interface GivenPayload {
  tenantId: string
  type: PayloadRules
  payload: unknown
}

/** What is wrong with each payload by its type's schema, all asked at once; nothing where the type has none. */
export async function checkPayloads(
  untrusted: Untrusted,
  payloads: readonly GivenPayload[],
  turn: string,
): Promise<FieldError[][]> {
  const withSchema = payloads.filter(({ type }) => type.payload !== null)
  const asked = withSchema.map(({ tenantId, type, payload }) => {
    return { tenantId, rules: { payload: type.payload, secrets: type.secrets }, payload }
  })
  const results = await untrusted.run('checkPayload', asked, turn)
  const faults = new Map(withSchema.map((each, i) => [each, answerOf(results[i], unchecked)]))
  return payloads.map((each) => faults.get(each) ?? [])
}

function unchecked(stopped: string): FieldError[] {
  return [{ path: '', message: `cannot be checked by its schema: ${stopped}` }]
}
