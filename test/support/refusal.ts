import assert from 'node:assert/strict'
import { isPillarboxError } from '../../packages/pillarbox/src/model/errors.ts'

/** What somebody is told who asked in vain, with its code before it; that it was in vain is asserted. */
export async function refusalOf(asking: Promise<unknown>): Promise<string> {
  const error = await asking.then(
    () => null,
    (refused: unknown) => refused,
  )
  assert.ok(isPillarboxError(error), String(error))
  return `${error.code}: ${error.message}`
}
