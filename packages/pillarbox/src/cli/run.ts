import { Command, CommanderError } from 'commander'
import type { Config } from '../config/config.ts'
import { errorText, SetupError } from '../model/errors.ts'
import type { Clock } from '../model/ports.ts'
import type { ScopedLogger } from '../runtime/logger.ts'
import { addCatalogueCommands } from './catalogue-commands.ts'
import type { EngineModule, Parts } from './engine.ts'
import { addSettings, givenSettings } from './flags.ts'
import { addKeyCommands } from './key-commands.ts'
import { adviceForNode } from './node-version.ts'
import type { ProcessEvents } from './serve.ts'

/** What a command takes from the process it runs in. */
export interface CliDeps {
  version: string
  env: Record<string, string | undefined>
  cwd: string
  nodeVersion: string
  stdout: { write(text: string): void; isTerminal: boolean; hasColours: boolean }
  stderr: { write(text: string): void }
  /** Where somebody can be asked, if somebody is there. */
  stdin: { isTerminal: boolean; ask(question: string): Promise<string> }
  clock: Clock
  events: ProcessEvents
  exitNow(code: number): void
  loadEngine(): Promise<EngineModule>
}

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
    if (error instanceof CommanderError) return error.exitCode
    deps.stderr.write(`pillarbox: ${await safeText(error)}\n`)
    const forNode = adviceForNode(deps.nodeVersion)
    // An old Node fails at the first thing it does not have, which tells nobody anything.
    if (error instanceof SetupError) deps.stderr.write(`           → ${error.advice}\n`)
    else if (forNode !== null) deps.stderr.write(`           → this is Node ${deps.nodeVersion}: ${forNode}\n`)
    return 1
  }
}

const SERVERS: { name: string; parts: Parts; description: string; examples: string }[] = [
  {
    name: 'start',
    parts: { api: true, worker: true },
    description: 'Run API and worker in one process.',
    examples: `
  $ pillarbox start                              SQLite and sandbox providers, on port 4400
  $ pillarbox start --port 8080 --no-demo
  $ DATABASE_URL=postgres://app@db/app pillarbox start`,
  },
  {
    name: 'api',
    parts: { api: true, worker: false },
    description: 'Run the HTTP API only; workers run elsewhere.',
    examples: `
  $ DATABASE_URL=postgres://app@db/app pillarbox api --host 0.0.0.0
  $ pillarbox api --config /etc/pillarbox.yaml`,
  },
  {
    name: 'worker',
    parts: { api: false, worker: true },
    description: 'Run a worker only: plan events and send notifications.',
    examples: `
  $ DATABASE_URL=postgres://app@db/app pillarbox worker
  $ pillarbox worker --channels sms,whatsapp --concurrency 64`,
  },
]

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
  $ pillarbox doctor                 look at what a start needs
  $ pillarbox catalogue list         ready-made catalogues, to begin with
  $ pillarbox help start             the settings of a command

Settings come from flags, then the environment, then a config file. Secrets have no flags: PILLARBOX_MASTER_KEY,
PILLARBOX_FORMER_MASTER_KEYS and PILLARBOX_OPS_KEY are read from the environment or the file only.`,
    )

  for (const { name, parts, description, examples } of SERVERS) {
    const command = program.command(name).description(description).addHelpText('after', `\nExamples:${examples}`)
    addSettings(command, [
      'any',
      ...(parts.api ? (['api'] as const) : []),
      ...(parts.worker ? (['worker'] as const) : []),
    ])
    command.action(async () => answer(await runServer(command, parts, deps)))
  }

  const migrate = program
    .command('migrate')
    .description('Bring the database schema up to date.')
    .option('--check', 'change nothing; exit 1 if the schema is not up to date')
    .addHelpText(
      'after',
      `
Examples:
  $ DATABASE_URL=postgres://owner@db/app pillarbox migrate
  $ pillarbox migrate --check        in a pipeline, before a rollout`,
    )
  addSettings(migrate, ['any'])
  migrate.action(async () => answer(await runMigrate(migrate, deps)))

  const doctor = program
    .command('doctor')
    .description('Check everything that a start needs; exit 1 if something would keep it from working.')
    .addHelpText(
      'after',
      `
Each line begins with ok, warn or fail, and says what to do. Nothing is changed.

Examples:
  $ pillarbox doctor
  $ pillarbox doctor --config /etc/pillarbox.yaml`,
    )
  addSettings(doctor, ['any', 'api'])
  doctor.action(async () => answer(await runDoctor(doctor, deps)))

  addKeyCommands(program, deps, { settle: (command) => settle(command, deps), answer })
  addCatalogueCommands(program, deps, { settle: (command) => settle(command, deps), answer })
  return program
}

async function runServer(command: Command, parts: Parts, deps: CliDeps): Promise<number> {
  const settled = await settle(command, deps)
  if (settled === null) return 1
  const { config, warnings, logger } = settled
  for (const warning of warnings) logger.warn({}, warning)
  const [{ serve }, { announce }, { createPillarbox }] = await Promise.all([
    import('./serve.ts'),
    import('./announce.ts'),
    deps.loadEngine(),
  ])
  const { stdout, clock, events, exitNow } = deps
  return await serve({
    config,
    parts,
    logger,
    createPillarbox,
    events,
    clock,
    exitNow,
    announce: (started) =>
      announce(started, { config, parts, logger, isTerminal: stdout.isTerminal, write: stdout.write, now: clock.now }),
    explain: (error) => {
      const hint = hintFor(error, config)
      logger.error(hint === null ? { error } : { reason: errorText(error), hint }, 'could not start')
    },
  })
}

async function runMigrate(command: Command, deps: CliDeps): Promise<number> {
  const settled = await settle(command, deps)
  if (settled === null) return 1
  const [{ migrate, checkSchema }, { openStore }] = await Promise.all([import('./migrate.ts'), deps.loadEngine()])
  const isCheck: unknown = command.getOptionValue('check')
  const { config, logger } = settled
  return await (isCheck === true ? checkSchema : migrate)({ config, logger, openStore, write: deps.stdout.write })
}

async function runDoctor(command: Command, deps: CliDeps): Promise<number> {
  const settled = await settle(command, deps)
  if (settled === null) return 1
  const [{ examine, describeFindings }, { openStore }] = await Promise.all([import('./doctor.ts'), deps.loadEngine()])
  const { config, warnings, logger } = settled
  const findings = await examine({
    config,
    warnings,
    logger,
    openStore,
    nodeVersion: deps.nodeVersion,
    now: deps.clock.now,
  })
  deps.stdout.write(describeFindings(findings))
  return findings.some(({ state }) => state === 'fail') ? 1 : 0
}

/** The command's settings and a logger that follows them; null when they are wrong, which has then been said. */
async function settle(
  command: Command,
  { env, cwd, stdout, stderr, clock }: CliDeps,
): Promise<{ config: Config; warnings: string[]; logger: ScopedLogger } | null> {
  const [{ loadConfig }, { describeProblem }] = await Promise.all([
    import('../config/load.ts'),
    import('../config/config.ts'),
  ])
  const answer = await loadConfig({ flags: givenSettings(command), env, cwd })
  if ('problems' in answer) {
    stderr.write(
      `pillarbox: these settings are wrong\n${answer.problems.map((problem) => `  ${describeProblem(problem)}\n`).join('')}`,
    )
    return null
  }
  const [{ createLogger }, { redactForLog }] = await Promise.all([
    import('../runtime/logger.ts'),
    import('../security/redact.ts'),
  ])
  const { config, warnings } = answer
  const style = !stdout.isTerminal ? 'json' : stdout.hasColours ? 'coloured' : 'plain'
  // Tools answer on stdout, so only servers may log there.
  const write = isServer(command) ? stdout.write : stderr.write
  const level = isServer(command) || config.logLevel === 'debug' ? config.logLevel : 'warn'
  const masterKeys = [config.masterKey, ...config.formerMasterKeys]
  const secrets = [config.opsKey ?? '', ...masterKeys.map((key) => key?.toString('base64') ?? '')]
  const logger = createLogger({ level, clock, scrub: (text) => redactForLog(text, secrets), write, style })
  return { config, warnings, logger }
}

function isServer(command: Command): boolean {
  return SERVERS.some(({ name }) => name === command.name())
}

/** What to do about an error whose cause is known; null for one that nobody expected, which is shown whole. */
function hintFor(error: unknown, { host, port }: Config): string | null {
  if (error instanceof SetupError) return error.advice
  switch ((error as { code?: unknown } | null)?.code) {
    case 'EADDRINUSE':
      return `port ${port} of ${host} is taken: choose another with --port`
    case 'EACCES':
      return `this user may not use port ${port}, or may not write to the data folder`
    case 'EADDRNOTAVAIL':
      return `this machine has no address ${host}: choose another with --host`
    case 'store_unavailable':
    case 'ECONNREFUSED':
      return 'run "pillarbox doctor" to see what is wrong with the database'
    default:
      return null
  }
}

async function safeText(error: unknown): Promise<string> {
  const { redact } = await import('../security/redact.ts')
  return redact(errorText(error))
}
