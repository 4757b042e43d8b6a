import { TENANT_ID } from '@pillarbox/client/contract'
import { InvalidArgumentError } from 'commander'
import type { CommandCall } from './call.ts'
import type { SettingsPart } from './flags.ts'

/** One command: what its help says, what it takes, and what runs. */
export interface CommandEntry {
  /** With its group's name in front, such as `keys rotate`. */
  name: string
  description: string
  /** The argument's name and what it is. */
  argument?: [string, string]
  options?: readonly CommandOption[]
  /** Which settings it takes as flags; a command without any needs no settings. */
  parts?: readonly SettingsPart[]
  /** Logs on stdout and goes on until it is stopped; the other commands answer on stdout. */
  isServer?: true
  help: string
  /** Answers the exit code. What it needs is loaded when it runs, so that --help stays quick. */
  run?(call: CommandCall): Promise<number>
}

export interface CommandOption {
  flags: string
  description: string
  isRequired?: true
  /** Under which heading of the help it stands, where that is not "Options". */
  heading?: string
  read?(value: string): string
}

export const TENANT: CommandOption = { flags: '--tenant <id>', description: 'the tenant', isRequired: true, read: slug }

export function slug(value: string): string {
  if (!TENANT_ID.pattern.test(value))
    throw new InvalidArgumentError('A tenant’s id has lower-case letters, digits and "-" only.')
  return value
}
