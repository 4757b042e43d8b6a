import { SetupError } from '../model/errors.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemRandom } from '../runtime/system.ts'
import { createSiteAgent } from '../site/site-agent.ts'
import type { CommandCall } from './call.ts'
import { givenKey } from './operator/server.ts'
import { serve } from './serve.ts'

const DEFAULT_PORT = 4401

/** `site`: buffers what scripts on this machine send, and hands it off, until somebody stops it. */
export async function runSite(call: CommandCall): Promise<number> {
  const { config, warnings, logger } = await call.settle()
  for (const warning of warnings) logger.warn({}, warning)
  const options = {
    central: required(call, 'central', 'PILLARBOX_CENTRAL'),
    site: required(call, 'site', 'PILLARBOX_SITE'),
    key: await keyOf(call),
    dataDir: config.dataDir,
    port: wholeNumber(call, 'port', 'PILLARBOX_SITE_PORT', 0, 65_535) ?? DEFAULT_PORT,
    ...optional('maxItems', wholeNumber(call, 'maxItems', 'PILLARBOX_SITE_MAX_ITEMS', 1)),
    ...optional('maxBytes', wholeNumber(call, 'maxBytes', 'PILLARBOX_SITE_MAX_BYTES', 1)),
  }
  const { clock, events, exitNow } = call
  const agent = createSiteAgent(options, { logger, ids: createIdSource(clock, systemRandom()) })
  return await serve({
    config,
    parts: { api: false, worker: false },
    logger,
    createPillarbox: async () => ({
      start: async () => ({
        url: await agent.start(),
        metricsUrl: null,
        newOpsKey: null,
        demoTenantId: null,
        consoleLink: null,
      }),
      stop: agent.stop,
    }),
    events,
    clock,
    exitNow,
    announce: ({ url }) =>
      logger.info({ url, site: options.site, central: options.central, dataDir: options.dataDir }, 'ready'),
    explain: (error) => {
      const { code } = error as { code?: unknown }
      const isTaken = code === 'EADDRINUSE'
      if (isTaken)
        logger.error({ hint: `port ${options.port} is taken: choose another with --port` }, 'could not start')
      else if (error instanceof SetupError)
        logger.error({ reason: error.message, hint: error.advice }, 'could not start')
      else if (error instanceof TypeError) logger.error({ reason: error.message }, 'could not start')
      else logger.error({ error }, 'could not start')
    },
  })
}

function given({ options, env }: CommandCall, name: string, variable: string): string | null {
  const value = options[name] ?? env[variable]
  return typeof value === 'string' && value !== '' ? value : null
}

function required(call: CommandCall, name: string, variable: string): string {
  return given(call, name, variable) ?? call.refuse(`--${name} or ${variable} is needed`)
}

async function keyOf(call: CommandCall): Promise<string> {
  const key = await givenKey(call)
  if (key !== null) return key
  throw new SetupError(
    'a key is needed',
    'set PILLARBOX_KEY, or PILLARBOX_KEY_FILE to a file that holds it; "pillarbox keys create --role publisher --site NAME" makes one at the server',
  )
}

function wholeNumber(
  call: CommandCall,
  name: string,
  variable: string,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): number | null {
  const text = given(call, name, variable)
  if (text === null) return null
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= least && value <= most)) call.refuse(`${variable} must be a whole number from ${least}`)
  return value
}

function optional<Name extends string>(name: Name, value: number | null): Partial<Record<Name, number>> {
  return value === null ? {} : ({ [name]: value } as Partial<Record<Name, number>>)
}
