import { type Command, Option } from 'commander'
import { CONFIG_FILE_ENV, CONFIG_FILE_FLAG, defaultOf, flagName, optionEntries } from '../config/options.ts'

/** Which processes a setting concerns. */
export type SettingsPart = 'any' | 'server' | 'api' | 'worker'

const HEADINGS = {
  any: 'Settings:',
  server: 'Alert settings:',
  api: 'API settings:',
  worker: 'Worker settings:',
} as const

/** Gives a command the flags of these parts, as the options' table has them. */
export function addSettings(command: Command, parts: readonly SettingsPart[]): void {
  command.addOption(
    new Option(CONFIG_FILE_FLAG, `YAML or JSON file with settings [${CONFIG_FILE_ENV}]`).helpGroup(HEADINGS.any),
  )
  for (const [, entry] of optionEntries()) {
    if (entry.flag === null || !parts.includes(entry.part)) continue
    const help = `${firstSentence(entry.doc)} [${entry.env}, default ${defaultOf(entry).text}]`
    const isSwitch = !entry.flag.includes('<')
    const on = new Option(entry.flag, help).helpGroup(HEADINGS[entry.part])
    command.addOption(isSwitch && entry.default === true ? on.hideHelp() : on)
    if (!isSwitch) continue
    const off = new Option(entry.flag.replace('--', '--no-'), `Switches off: ${help}`).helpGroup(HEADINGS[entry.part])
    command.addOption(entry.default === true ? off : off.hideHelp())
  }
}

/** The settings that were given to a command, by flag. */
export function givenSettings(command: Command): Record<string, string | boolean> {
  const values: Record<string, unknown> = command.opts()
  const given: Record<string, string | boolean> = {}
  const flags = optionEntries().flatMap(([, entry]) => entry.flag ?? [])
  for (const flag of [CONFIG_FILE_FLAG, ...flags]) {
    const value = values[new Option(flag).attributeName()]
    if (typeof value === 'string' || typeof value === 'boolean') given[flagName(flag)] = value
  }
  return given
}

function firstSentence(doc: string): string {
  return /^.*?[^.]\.(?= [A-Z0-9]|$)/.exec(doc)?.[0].replace(/\.$/, '') ?? doc
}
