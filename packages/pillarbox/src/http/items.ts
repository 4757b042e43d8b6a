import { ERRORS, type ErrorCode, type FieldError, PillarboxError } from '../model/errors.ts'
import { sentence } from './problems.ts'

/** What one item of a list came to. */
export interface ItemAnswer {
  index: number
  id?: string
  status: number
  code?: ErrorCode
  detail?: string
  errors?: FieldError[]
}

/** A bad item as its own small problem: the status, code and errors it would have had alone. */
export function itemProblem(index: number, wrong: PillarboxError | FieldError[]): ItemAnswer {
  const problem =
    wrong instanceof PillarboxError
      ? wrong
      : new PillarboxError('invalid_body', sentence('The item', wrong), { errors: wrong })
  const { errors } = problem.details
  return {
    index,
    status: ERRORS[problem.code].status,
    code: problem.code,
    detail: problem.message,
    ...(errors && { errors: errors.slice(0, 20) }),
  }
}
