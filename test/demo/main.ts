import { parseArgs } from 'node:util'
import { startDemo } from './demo-world.ts'

const HELP = `npm run demo: the product with a tenant that has a week of traffic behind it; nothing leaves this machine.

  --dir DIR     where it lives (default: a temporary folder, removed at the end); one that has a week already is only started
  --port PORT   where it listens (default: 4400)
  --seed N      another week (default: 1)
`

const { values } = parseArgs({
  options: {
    dir: { type: 'string' },
    port: { type: 'string', default: '4400' },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) process.stdout.write(HELP)
else {
  const say = (line: string): void => void process.stderr.write(`${line}\n`)
  const demo = await startDemo({ dir: values.dir ?? null, port: Number(values.port), seed: Number(values.seed), say })
  process.stdout.write(`
  Console  ${demo.link}
  API      ${demo.url}, ops key ${demo.opsKey}
  Folder   ${demo.dir}

`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      void demo.stop().then(() => process.exit(0))
    })
}
