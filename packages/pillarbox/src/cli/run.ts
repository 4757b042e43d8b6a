import { Command, CommanderError } from 'commander'
import { describeProblem } from '../config/config.ts'
import { errorText, SetupError } from '../model/errors.ts'
import type { CliDeps, CommandCall, SettledSettings } from './call.ts'
import type { CommandEntry } from './command.ts'
import { COMMANDS } from './commands.ts'
import { addSettings, givenSettings } from './flags.ts'
import { adviceForNode } from './node-version.ts'

/** The exit code of a command line that says what cannot be. Whatever else goes wrong is 1. */
const BAD_USAGE = 2

/** Runs one command line (without node and script) and answers the exit code. Whatever goes wrong is said on stderr. */
export async function run(args: readonly string[], deps: CliDeps): Promise<number> {
  let code = 0
  const program = createProgram(deps, (answered) => {
    code = answered
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    // Commander has said what was wrong, or shown the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : BAD_USAGE
    await explain(error, deps)
    return 1
  }
}

async function explain(error: unknown, { stderr, nodeVersion }: CliDeps): Promise<void> {
  if (error instanceof WrongSettings) {
    stderr.write(`pillarbox: these settings are wrong\n${error.message}`)
    return
  }
  const { redact } = await import('../security/redact.ts')
  stderr.write(`pillarbox: ${redact(errorText(error))}\n`)
  const forNode = adviceForNode(nodeVersion)
  // An old Node fails at the first thing it does not have, which tells nobody anything.
  if (error instanceof SetupError) stderr.write(`           → ${error.advice}\n`)
  else if (forNode !== null) stderr.write(`           → this is Node ${nodeVersion}: ${forNode}\n`)
}

function createProgram(deps: CliDeps, answer: (code: number) => void): Command {
  const program = new Command('pillarbox')
    .description('A notification outbox: events committed with your data, delivered once, in plain sight.')
    .version(deps.version, '-v, --version')
    .exitOverride()
    .configureOutput({ writeOut: (text) => deps.stdout.write(text), writeErr: (text) => deps.stderr.write(text) })
    .addHelpText(
      'after',
      `
Examples:
  $ pillarbox start                  everything in one process, on http://127.0.0.1:4400
  $ pillarbox doctor                 what is wrong, and how to mend it
  $ pillarbox catalogue list         ready-made catalogues, to begin with
  $ pillarbox notifications list     what a running server has, with PILLARBOX_KEY (and PILLARBOX_URL)
  $ pillarbox tail                   outcomes as they come
  $ pillarbox help start             the settings of a command

Settings come from flags, then the environment, then a config file. Secrets have no flags: PILLARBOX_MASTER_KEY,
PILLARBOX_FORMER_MASTER_KEYS, PILLARBOX_OPS_KEY and PILLARBOX_AUDIT_SINK_SECRET are read from the environment or the file only.
Each of them, and DATABASE_URL, may also come from a file or a command: PILLARBOX_MASTER_KEY_FILE, PILLARBOX_MASTER_KEY_COMMAND, ….`,
    )
  const groups = new Map<string, Command>()
  for (const entry of COMMANDS) {
    const [group = '', name] = entry.name.split(' ')
    const command = (name === undefined ? program : groups.get(group))?.command(name ?? group)
    if (!command) throw new Error(`the command ${entry.name} has no group`)
    describeCommand(command, entry)
    groups.set(entry.name, command)
    const { run: work } = entry
    if (work) command.action(async () => answer(await work(callOf(command, entry, deps))))
  }
  return program
}

function describeCommand(command: Command, { description, argument, options = [], parts, help }: CommandEntry): void {
  command.description(description).addHelpText('after', help)
  if (argument) command.argument(...argument)
  for (const { flags, description: about, isRequired, heading, read } of options) {
    const option = command.createOption(flags, about).makeOptionMandatory(isRequired ?? false)
    if (heading !== undefined) option.helpGroup(heading)
    command.addOption(read ? option.argParser(read) : option)
  }
  if (parts) addSettings(command, parts)
}

function callOf(command: Command, entry: CommandEntry, deps: CliDeps): CommandCall {
  return {
    ...deps,
    argument: command.args[0],
    options: command.opts(),
    settle: () => settle(command, entry, deps),
    refuse: (message) => command.error(`error: ${message}`),
  }
}

class WrongSettings extends Error {}

async function settle(
  command: Command,
  { isServer }: CommandEntry,
  { env, cwd, stdout, stderr, clock }: CliDeps,
): Promise<SettledSettings> {
  const { loadConfig } = await import('../config/load.ts')
  const answer = await loadConfig({ flags: givenSettings(command), env, cwd, clock })
  if ('problems' in answer)
    throw new WrongSettings(answer.problems.map((problem) => `  ${describeProblem(problem)}\n`).join(''))
  const [{ createLogger }, { redactForLog }] = await Promise.all([
    import('../runtime/logger.ts'),
    import('../security/redact.ts'),
  ])
  const { config, warnings } = answer
  const style = !stdout.isTerminal ? 'json' : stdout.hasColours ? 'coloured' : 'plain'
  // Tools answer on stdout, so only servers may log there.
  const write = isServer ? stdout.write : stderr.write
  const level = isServer || config.logLevel === 'debug' ? config.logLevel : 'warn'
  const masterKeys = [config.masterKey, ...config.formerMasterKeys]
  const secrets = [
    config.opsKey ?? '',
    config.auditSinkSecret ?? '',
    ...masterKeys.map((key) => key?.toString('base64') ?? ''),
  ]
  const logger = createLogger({
    level,
    clock,
    scrub: (text) => redactForLog(text, secrets),
    write,
    defer: setImmediate,
    style,
  })
  return { config, warnings, logger }
}
