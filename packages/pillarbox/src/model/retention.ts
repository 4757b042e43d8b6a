import { parseDuration } from './duration.ts'

/** The least that is kept of what is over, whoever says how long: nobody empties a history by a slip. */
const LEAST_KEPT_MS = 3_600_000

export const RETENTION_RULE = 'must be an ISO 8601 duration of an hour or more, such as P365D'

/** Null where the text does not keep `RETENTION_RULE`. */
export function parseRetention(text: string): number | null {
  const ms = parseDuration(text)
  return ms === null || ms < LEAST_KEPT_MS ? null : ms
}
