import { SetupError } from '../model/errors.ts'

/**
 * Under which master keys the secrets in a database are sealed. It is kept in the database as one value, so that it
 * changes for all processes at once:
 *
 *   a ──rotate to b──▶ b from a ──all is re-sealed──▶ b
 *
 * A rotation that is given up half-way and followed by one to another key leaves two to be re-sealed: `c from b,a`.
 */
export interface KeyState {
  /** Whatever is sealed from now on is sealed under this one. */
  current: string
  /** What was sealed before may still be under these: a rotation is under way. */
  former: string[]
}

/** The name under which the store keeps it. */
export const MASTER_KEY = 'master_key'

export function readKeyState(text: string): KeyState {
  const [current = '', former = ''] = text.split(' from ')
  return { current, former: former === '' ? [] : former.split(',') }
}

export function writeKeyState({ current, former }: KeyState): string {
  return former.length === 0 ? current : `${current} from ${former.join(',')}`
}

/** From now on `to` is sealed under, and what was sealed before is still to be re-sealed. */
export function turnedTo({ current, former }: KeyState, to: string): KeyState {
  return { current: to, former: [current, ...former].filter((id) => id !== to) }
}

/** The error to stop with, where one of the keys that secrets are sealed under is not among `ids`; null: all are. */
export function missingKey({ current, former }: KeyState, ids: readonly string[]): SetupError | null {
  if (!ids.includes(current))
    return new SetupError(
      `The secrets in this database are sealed under master key ${current}, and this process has ${ids.join(', ')}.`,
      'set PILLARBOX_MASTER_KEY to that key, or copy master.key from the data folder of the installation it belongs to; if it is to be replaced, give it in PILLARBOX_FORMER_MASTER_KEYS and run "pillarbox keys rotate"',
    )
  const missing = former.filter((id) => !ids.includes(id))
  if (missing.length === 0) return null
  return new SetupError(
    `The master key is being changed to ${current}, and some secrets are still sealed under ${missing.join(', ')}, which this process does not have.`,
    'keep it in PILLARBOX_FORMER_MASTER_KEYS, or its file in the data folder, until "pillarbox keys rotate" has finished',
  )
}
