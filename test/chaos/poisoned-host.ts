import { loadConfig } from '../../packages/pillarbox/src/config/load.ts'
import { createPillarbox } from '../../packages/pillarbox/src/pillarbox.ts'
import { createLogger } from '../../packages/pillarbox/src/runtime/logger.ts'
import { systemClock } from '../../packages/pillarbox/src/runtime/system.ts'

/** An application that runs the product within itself, and whose process ends whenever it is asked about the order `poison`. */
const answer = await loadConfig({ flags: {}, env: process.env, cwd: process.cwd(), clock: systemClock })
if ('problems' in answer) throw new Error(JSON.stringify(answer.problems))
const logger = createLogger({
  level: 'info',
  clock: systemClock,
  scrub: (text) => text,
  write: (line) => void process.stdout.write(line),
  defer: setImmediate,
  style: 'json',
})
const pillarbox = await createPillarbox(answer.config, {
  logger,
  resolve({ entity }) {
    if (entity.id === 'poison') process.kill(process.pid, 'SIGKILL')
    return undefined
  },
})
const { url } = await pillarbox.start({ api: true, worker: true })
logger.info({ url }, 'ready')
