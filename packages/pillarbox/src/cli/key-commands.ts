import type { Command } from 'commander'
import type { Config } from '../config/config.ts'
import type { ScopedLogger } from '../runtime/logger.ts'
import { addSettings } from './flags.ts'
import type { CliDeps } from './run.ts'

type Settle = (command: Command) => Promise<{ config: Config; logger: ScopedLogger } | null>

/** `pillarbox keys …`. What each does is loaded when it runs, so that --help stays quick. */
export function addKeyCommands(
  program: Command,
  deps: CliDeps,
  { settle, answer }: { settle: Settle; answer(code: number): void },
): void {
  const keys = program
    .command('keys')
    .description('Show and change the keys of this installation.')
    .addHelpText(
      'after',
      `
Examples:
  $ pillarbox keys sealing
  $ pillarbox keys rotate --dry-run`,
    )

  const sealing = keys
    .command('sealing')
    .description('Print the public key that applications seal secrets with.')
    .addHelpText(
      'after',
      `
It seals and does not open, so it may stand in any application's settings. It belongs to the master key.

Examples:
  $ pillarbox keys sealing
  $ PILLARBOX_MASTER_KEY=… pillarbox keys sealing`,
    )
  addSettings(sealing, ['any'])
  sealing.action(async () => {
    const settled = await settle(sealing)
    if (settled === null) return answer(1)
    const { printSealingKey } = await import('./keys.ts')
    answer(await printSealingKey({ config: settled.config, write: deps.stdout.write, complain: deps.stderr.write }))
  })

  const rotating = keys
    .command('rotate')
    .description('Change the master key: seal every secret anew, under the new one.')
    .option('--dry-run', 'change nothing; count what would be sealed anew, and try whether it opens')
    .addHelpText(
      'after',
      `
With key files a new master key is made in the data folder; servers that use the same folder take it up by themselves. With
PILLARBOX_MASTER_KEY, set that to the new key and PILLARBOX_FORMER_MASTER_KEYS to the old one, for every process, one after
the other, and then for this command. Servers go on working meanwhile.

It may be broken off or killed at any moment: run it again, and it goes on. Exit code 0: everything is sealed under the new
key. 1: it was refused or failed, and says what to do; nothing is lost.

Examples:
  $ pillarbox keys rotate --dry-run
  $ pillarbox keys rotate
  $ PILLARBOX_MASTER_KEY=… PILLARBOX_FORMER_MASTER_KEYS=… DATABASE_URL=postgres://app@db/app pillarbox keys rotate`,
    )
  addSettings(rotating, ['any'])
  rotating.action((options: { dryRun?: true }) => run('rotate', rotating, options))

  const retiring = keys
    .command('retire')
    .description('Let former master keys go, once nothing is sealed under them.')
    .option('--dry-run', 'change nothing; count what is still sealed under them')
    .addHelpText(
      'after',
      `
Run it when every application that seals secrets itself has the new sealing key. What was sealed with the former one since
the rotation is sealed anew, and then the former keys stay (exit code 1): somebody still used them. Where there was nothing
of the kind, former key files are removed, and what to take out of PILLARBOX_FORMER_MASTER_KEYS is said.

Examples:
  $ pillarbox keys retire --dry-run
  $ pillarbox keys retire`,
    )
  addSettings(retiring, ['any'])
  retiring.action((options: { dryRun?: true }) => run('retire', retiring, options))

  async function run(what: 'rotate' | 'retire', command: Command, { dryRun }: { dryRun?: true }): Promise<void> {
    const settled = await settle(command)
    if (settled === null) return answer(1)
    const [rotation, { withStore }, { createKeyFiles }, { createIdSource }, { systemRandom }, crypto, os, engine] =
      await Promise.all([
        import('./rotate.ts'),
        import('./with-store.ts'),
        import('../config/key-files.ts'),
        import('../runtime/ids.ts'),
        import('../system.ts'),
        import('node:crypto'),
        import('node:os'),
        deps.loadEngine(),
      ])
    const { config, logger } = settled
    const { clock } = deps
    const { randomBytes } = crypto
    const ids = createIdSource(clock, systemRandom())
    const files = createKeyFiles(config.dataDir, { randomBytes, newId: ids })
    const self = { id: ids(), host: os.hostname(), pid: process.pid }
    const { write } = deps.stdout
    answer(
      await withStore({ config, logger, openStore: engine.openStore }, (store) =>
        rotation[what]({ config, store, files, clock, randomBytes, self, write }, { isDryRun: dryRun === true }),
      ),
    )
  }
}
