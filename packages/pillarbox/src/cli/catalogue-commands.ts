import { TENANT_ID } from '@pillarbox/client/contract'
import { type Command, InvalidArgumentError } from 'commander'
import type { Config } from '../config/config.ts'
import type { ScopedLogger } from '../runtime/logger.ts'
import { addSettings } from './flags.ts'
import type { CliDeps } from './run.ts'
import type { StoreAccess } from './with-store.ts'

type Settle = (command: Command) => Promise<{ config: Config; logger: ScopedLogger } | null>

/** `pillarbox catalogue …`. What each does is loaded when it runs, so that --help stays quick. */
export function addCatalogueCommands(
  program: Command,
  deps: CliDeps,
  { settle, answer }: { settle: Settle; answer(code: number): void },
): void {
  const io = { cwd: deps.cwd, write: deps.stdout.write, complain: deps.stderr.write }
  const catalogue = program
    .command('catalogue')
    .description('Check, import and read catalogues: what events mean, who is told, when and in which words.')
    .addHelpText(
      'after',
      `
Examples:
  $ pillarbox catalogue show busflow > busflow.yaml      begin with a ready-made one
  $ pillarbox catalogue check busflow.yaml
  $ pillarbox catalogue import busflow.yaml --tenant acme`,
    )

  catalogue
    .command('check')
    .description('Say everything that is wrong with a catalogue file, with line, column and how to mend it.')
    .argument('<file>', 'YAML or JSON')
    .addHelpText(
      'after',
      `
Exit code 1 where something is wrong; warnings alone are 0. Needs no database.

Examples:
  $ pillarbox catalogue check busflow.yaml`,
    )
    .action(async (file: string) => {
      const { checkFile } = await import('./catalogue.ts')
      answer(await checkFile(file, io))
    })

  const importing = catalogue
    .command('import')
    .description('Replace a tenant’s catalogue by a file, after showing what that changes.')
    .argument('<file>', 'YAML or JSON')
    .requiredOption('--tenant <id>', 'the tenant', slug)
    .option('--yes', 'do not ask')
    .option('--dry-run', 'only show what would change')
    .addHelpText(
      'after',
      `
Templates that nobody edited follow the file; edited ones are kept and shown. Running servers follow within a second.
Exit code 1 where something is wrong, or where it may not be imported: nobody was asked and --yes is missing.

Examples:
  $ pillarbox catalogue import busflow.yaml --tenant acme
  $ pillarbox catalogue import busflow.yaml --tenant acme --dry-run
  $ DATABASE_URL=postgres://app@db/app pillarbox catalogue import busflow.yaml --tenant acme --yes`,
    )
  addSettings(importing, ['any'])
  importing.action(async (file: string, options: { tenant: string; yes?: true; dryRun?: true }) => {
    const stores = await storesOf(importing)
    if (!stores) return
    const [{ importFile }, { createIdSource }, { systemRandom }] = await Promise.all([
      import('./catalogue.ts'),
      import('../runtime/ids.ts'),
      import('../system.ts'),
    ])
    const request = {
      file,
      tenantId: options.tenant,
      isSure: options.yes === true,
      isDryRun: options.dryRun === true,
    }
    const ids = createIdSource(deps.clock, systemRandom())
    const ask = deps.stdin.isTerminal ? deps.stdin.ask : null
    answer(await importFile(request, stores, { ...io, ids, ask }))
  })

  const types = catalogue
    .command('types')
    .description('Write TypeScript types for publish(): a wrong payload then does not compile.')
    .argument('[file]', 'YAML or JSON; or --tenant')
    .option('--tenant <id>', 'take what this tenant has', slug)
    .option('--out <file>', 'write there instead of printing it')
    .addHelpText(
      'after',
      `
Examples:
  $ pillarbox catalogue types busflow.yaml --out src/events.ts
  $ pillarbox catalogue types --tenant acme > src/events.ts

  import type { Events } from './events.ts'
  await publish<Events>(fromPg(client), { tenantId: 'acme', type: 'BOOKING_CONFIRMED', entity, payload })`,
    )
  addSettings(types, ['any'])
  types.action(async (file: string | undefined, { tenant, out }: { tenant?: string; out?: string }) => {
    if ((file === undefined) === (tenant === undefined)) types.error('error: name either a file or a --tenant')
    const { printTypes } = await import('./catalogue.ts')
    if (file !== undefined) {
      answer(await printTypes({ file }, out ?? null, io))
      return
    }
    const stores = await storesOf(types)
    if (stores) answer(await printTypes({ tenantId: tenant ?? '', stores }, out ?? null, io))
  })

  const exporting = catalogue
    .command('export')
    .description('Print a tenant’s catalogue as it was last imported.')
    .requiredOption('--tenant <id>', 'the tenant', slug)
    .addHelpText(
      'after',
      `
Templates that were edited since are not in it: they are under /api/message-templates.

Examples:
  $ pillarbox catalogue export --tenant acme > acme.yaml`,
    )
  addSettings(exporting, ['any'])
  exporting.action(async ({ tenant }: { tenant: string }) => {
    const stores = await storesOf(exporting)
    if (!stores) return
    const { exportDocument } = await import('./catalogue.ts')
    answer(await exportDocument(tenant, stores, io))
  })

  catalogue
    .command('list')
    .description('List the catalogues that ship with Pillarbox.')
    .addHelpText('after', '\nExamples:\n  $ pillarbox catalogue list')
    .action(async () => {
      const { listReady } = await import('./catalogue.ts')
      answer(listReady(io))
    })

  catalogue
    .command('show')
    .description('Print a catalogue that ships with Pillarbox.')
    .argument('<name>', 'one of "pillarbox catalogue list"')
    .addHelpText('after', '\nExamples:\n  $ pillarbox catalogue show atlas > atlas.yaml')
    .action(async (name: string) => {
      const { showReady } = await import('./catalogue.ts')
      answer(showReady(name, io))
    })

  /** Null where the settings are wrong, which has then been said. */
  async function storesOf(command: Command): Promise<StoreAccess | null> {
    const settled = await settle(command)
    if (!settled) {
      answer(1)
      return null
    }
    const { openStore } = await deps.loadEngine()
    return { config: settled.config, logger: settled.logger, openStore }
  }
}

function slug(value: string): string {
  if (!TENANT_ID.pattern.test(value))
    throw new InvalidArgumentError('A tenant’s id has lower-case letters, digits and "-" only.')
  return value
}
