import { PillarboxError } from '../../model/errors.ts'

/** How long a statement of a report may take: less than an answer may, so that whoever waits is told why there is none. */
export const REPORT_LIMIT_MS = 20_000

export function reportTookTooLong(limitMs: number): PillarboxError {
  return new PillarboxError(
    'overloaded',
    `Reading this took longer than ${limitMs / 1_000} seconds and was ended. Ask for less: of one tenant, of a time (from, to), or by an id.`,
  )
}
